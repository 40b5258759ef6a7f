"""The agent's way to the service: replacements and events, over HTTP to the node's default gateway."""

from __future__ import annotations

import http.client
import json
import logging
import queue
import socket
import struct
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

PORT = 9700
TIMEOUT_SECONDS = 5.0
ROUTES = Path("/proc/net/route")
FAILURES = (OSError, ValueError, http.client.HTTPException)
log = logging.getLogger(__name__)

# Only ever this machine's own network: a proxy of the environment must not come between.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def gateway(routes: str) -> str | None:
    """The default route's gateway, from the text of /proc/net/route."""
    for line in routes.splitlines()[1:]:
        columns = line.split()
        if columns[1] == "00000000" and columns[2] != "00000000":
            return socket.inet_ntoa(struct.pack("<I", int(columns[2], 16)))
    return None


def own_address(gateway_address: str) -> str:
    """The address this node talks to its gateway from; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((gateway_address, PORT))
        return str(probe.getsockname()[0])


class ServiceClient:
    """Posts to the service; events go out in the background, in order, and are lost if nobody listens."""

    def __init__(self, gateway_address: str, port: int = PORT) -> None:
        self._base = f"http://{gateway_address}:{port}"
        self._events: queue.Queue[dict[str, Any]] = queue.Queue(1000)
        threading.Thread(target=self._send_events, name="events", daemon=True).start()

    def replace(self, node: str, reason: str) -> bool:
        """Ask for a node's recovery; false where the service could not be reached."""
        try:
            answer = self._post("/replace", {"node": node, "reason": reason})
        except FAILURES as error:
            log.warning("the service did not take the request for %s: %s", node, error)
            return False
        log.info("service about %s (%s): %s", node, reason, answer)
        return True

    def emit(self, kind: str, subject: str, **data: object) -> None:
        event = {"t": round(time.time(), 3), "source": "agent", "kind": kind}
        log.info("%s %s %s", kind, subject, json.dumps(data))
        try:
            self._events.put_nowait({**event, "subject": subject, "data": data})
        except queue.Full:
            log.warning("events are not taken; one was dropped")

    def _send_events(self) -> None:
        while True:
            event = self._events.get()
            try:
                self._post("/events", event)
            except FAILURES as error:
                log.warning("event not taken: %s", error)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(  # noqa: S310  (always http, to the router)
            self._base + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with _DIRECT.open(request, timeout=TIMEOUT_SECONDS) as response:
            text = response.read()
        return json.loads(text) if text else {}
