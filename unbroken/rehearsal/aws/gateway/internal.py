"""The service's own port on the node network: where agents ask for replacements and tell what they saw.

Nothing like it is documented for AWS; how the real agents reach the service is not public.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from unbroken.rehearsal.aws.gateway.http import Reply, Request
from unbroken.rehearsal.aws.gateway.nodes import Directory

ReplaceRequested = Callable[[str, str, str], Mapping[str, Any]]
"""Called with the address of the asking node, the node to replace and the reason."""


class Events(Protocol):
    """Where agents' events go."""

    def emit(self, source: str, kind: str, subject: str, /, **data: Any) -> object:
        """Record one event."""


class InternalPort:
    """Answers agents; a caller that is no node is refused."""

    def __init__(self, directory: Directory, replace: ReplaceRequested, events: Events) -> None:
        self._directory = directory
        self._replace = replace
        self._events = events

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        if self._directory.at(request.client) is None:
            return _json(403, {"message": f"{request.client} is not a node of this rehearsal"})
        actions = {("POST", "/replace"): self._on_replace, ("POST", "/events"): self._on_events}
        action = actions.get((request.method, request.target))
        if action is None:
            return _json(404, {"message": f"{request.method} {request.target} is not offered here"})
        try:
            return action(request)
        except (KeyError, TypeError, ValueError) as error:
            return _json(400, {"message": f"not understood: {error!r}"})

    def _on_replace(self, request: Request) -> Reply:
        body = json.loads(request.body)
        return _json(200, dict(self._replace(request.client, str(body["node"]), str(body["reason"]))))

    def _on_events(self, request: Request) -> Reply:
        """One JSON object, or one a line: source, kind, subject, data."""
        for line in request.body.decode().splitlines():
            if line.strip():
                self._emit(json.loads(line))
        return _json(200, {"received": time.time()})

    def _emit(self, event: Mapping[str, Any]) -> None:
        data = {str(key): value for key, value in dict(event.get("data") or {}).items()}
        self._events.emit(str(event["source"]), str(event["kind"]), str(event["subject"]), **data)


def _json(status: int, body: Mapping[str, Any]) -> Reply:
    return Reply(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
