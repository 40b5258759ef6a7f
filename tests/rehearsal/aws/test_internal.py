"""The service's own port, and the small HTTP server under all three."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.rehearsal.aws.node_side import ask, spec
from unbroken.rehearsal.aws.gateway.http import Answer, Request
from unbroken.rehearsal.aws.gateway.internal import InternalPort
from unbroken.rehearsal.aws.gateway.nodes import Directory


class Recorded:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str, dict[str, Any]]] = []
        self.asked: list[tuple[str, str, str]] = []

    def emit(self, source: str, kind: str, subject: str, /, **data: Any) -> None:
        self.events.append((source, kind, subject, data))

    def replace(self, asking: str, node: str, reason: str) -> dict[str, Any]:
        self.asked.append((asking, node, reason))
        return {"accepted": True, "message": ""}


def test_agents_ask_for_a_replacement_and_tell_what_they_saw() -> None:
    directory, told = Directory(), Recorded()
    directory.add(spec("r", "10.0.128.10"))
    port = InternalPort(directory, told.replace, told)

    def post(path: str, body: bytes, client: str = "10.0.128.10") -> tuple[int, dict[str, Any]]:
        reply = port(Request("POST", path, {}, body, client))
        return reply.status, json.loads(reply.body)

    asked = json.dumps({"node": "ip-10-0-128-12", "reason": "Action:Replace"}).encode()
    assert post("/replace", asked) == (200, {"accepted": True, "message": ""})
    assert told.asked == [("10.0.128.10", "ip-10-0-128-12", "Action:Replace")]
    seen = [{"source": "agent", "kind": kind, "subject": "n"} for kind in ("detected", "marked")]
    lines = "\n".join(json.dumps(one | {"data": {"x": 1}}) for one in seen).encode()
    assert post("/events", lines)[0] == 200
    assert told.events == [("agent", kind, "n", {"x": 1}) for kind in ("detected", "marked")]
    assert post("/replace", b"{}")[0] == 400
    assert post("/events", b"no json")[0] == 400
    assert post("/other", b"")[0] == 404
    assert post("/replace", asked, client="10.0.128.99")[0] == 403
    assert len(told.asked) == 1


def test_an_answer_that_fails_is_a_500_and_no_hang(serve: Callable[[Answer], int]) -> None:
    def broken(_request: Request) -> Any:
        raise RuntimeError("no")

    port = serve(broken)
    assert ask(port, "GET", "/")[0] == 500
    assert ask(port, "PUT", "/", {"Transfer-Encoding": "chunked"})[0] == 411
