"""Port 4001 of the controller, where the helpers of running jobs ask; one JSON line each way.

``{"op": "attach", "job": 5}`` says that a helper is at work for as long as the connection stands.
``{"op": "diagnose", "job": 5, "nodes": "ip-10-0-0-[1-3]"}`` asks what to do about a failed step.
"""

from __future__ import annotations

import json
import logging
import socketserver
from collections.abc import Callable
from typing import Any

from cluster_agent.diagnosis import Verdict
from cluster_agent.recovery import Attendance

PORT = 4001
MAX_LINE = 1 << 20
log = logging.getLogger(__name__)

Diagnose = Callable[[int, str], Verdict]


class Server(socketserver.ThreadingTCPServer):
    """Answers helpers, each in a thread of its own."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], diagnose: Diagnose, attendance: Attendance) -> None:
        super().__init__(address, _Handler)
        self.diagnose = diagnose
        self.attendance = attendance


class _Handler(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        try:
            request = json.loads(self.rfile.readline(MAX_LINE))
            operation, job = request["op"], int(request["job"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("not a request: %s", error)
            return
        if operation == "attach":
            self._attend(job)
        elif operation == "diagnose":
            self._answer(self.server.diagnose(job, str(request["nodes"])))

    def _attend(self, job: int) -> None:
        """Count the helper as present until its end of the connection closes."""
        self.server.attendance.enter(job)
        try:
            self._send({"attached": job})
            while self.rfile.readline(MAX_LINE):
                pass
        except OSError:
            pass
        finally:
            self.server.attendance.leave(job)

    def _answer(self, verdict: Verdict) -> None:
        self._send(
            {"ResumeAction": verdict.action, "unhealthy": list(verdict.unhealthy), "requeue": verdict.requeue}
        )

    def _send(self, answer: dict[str, Any]) -> None:
        self.wfile.write(json.dumps(answer).encode() + b"\n")
        self.wfile.flush()
