"""The helper's way to the cluster agent on the controller; ``cluster_agent.server`` is its other end."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from dataclasses import dataclass

PORT = 4001
CONNECT_TIMEOUT_SECONDS = 5.0
ANSWER_TIMEOUT_SECONDS = 60.0
ATTEMPTS = 20


@dataclass(frozen=True)
class Answer:
    """What the agent says about a failed step."""

    action: str
    unhealthy: tuple[str, ...] = ()
    requeue: bool = False


NO_ANSWER = Answer("NONE")


class AgentClient:
    """Talks to one agent about one job."""

    def __init__(self, address: str, job: str, port: int = PORT) -> None:
        self._where, self._job = (address, port), int(job)
        self._presence: socket.socket | None = None

    def attach(self) -> None:
        """Return when the agent knows of this helper; without an agent the step runs all the same."""
        with contextlib.suppress(OSError):
            self._presence = self._send({"op": "attach", "job": self._job})
            self._presence.settimeout(CONNECT_TIMEOUT_SECONDS)
            self._presence.recv(1)  # the beginning of its answer

    def detach(self) -> None:
        """The helper's work is over; the end of its process says so as well."""
        if self._presence is not None:
            self._presence.close()

    def diagnose(self, nodes: str, pause: float = 1.0) -> Answer:
        """Ask about the step's nodes; NONE where no agent answers in many tries."""
        for _ in range(ATTEMPTS):
            try:
                with self._send({"op": "diagnose", "job": self._job, "nodes": nodes}) as connection:
                    return self._answer(connection)
            except (OSError, ValueError, KeyError):
                time.sleep(pause)
        return NO_ANSWER

    def _send(self, request: dict[str, object]) -> socket.socket:
        connection = socket.create_connection(self._where, CONNECT_TIMEOUT_SECONDS)
        connection.settimeout(ANSWER_TIMEOUT_SECONDS)
        connection.sendall(json.dumps(request).encode() + b"\n")
        return connection

    @staticmethod
    def _answer(connection: socket.socket) -> Answer:
        with connection.makefile() as lines:
            said = json.loads(lines.readline())
        return Answer(said["ResumeAction"], tuple(said.get("unhealthy", ())), bool(said.get("requeue")))
