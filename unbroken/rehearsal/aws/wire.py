"""AWS services of ours on the wire: JSON 1.1 operations answered by a plain function, off the event loop."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import ministack.app
from ministack.core import router
from ministack.core.concurrency import run_reentrant

Answer = tuple[int, dict[str, Any]]
Dispatch = Callable[[str, bytes], Answer]
"""From the operation's name and the request's body to the HTTP status and the answer."""
Response = tuple[int, dict[str, str], bytes]

JSON = "application/x-amz-json-1.1"


def install(service: str, target_prefix: str, dispatch: Dispatch) -> None:
    """Serve ``service``, whose requests carry ``X-Amz-Target: <target_prefix><Operation>``."""
    ministack.app.SERVICE_HANDLERS[service] = handler(dispatch)
    router.SERVICE_PATTERNS[service] = {"target_prefixes": [target_prefix]}


def handler(dispatch: Dispatch) -> Callable[..., Awaitable[Response]]:
    """The dispatcher as ministack calls a service."""

    async def handle(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
    ) -> Response:
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        status, answer = await run_reentrant(dispatch, operation, body)
        return status, {"Content-Type": JSON}, json.dumps(answer).encode()

    return handle


def refusal(code: str, message: str, status: int = 400) -> Answer:
    """An error the way the JSON protocols carry it."""
    return status, {"__type": code, "Message": message}


def unknown_operation(service: str, operation: str) -> Answer:
    """The answer to an operation this embedded AWS does not have."""
    text = f"{operation} of {service} is not part of the embedded AWS"
    return refusal("UnknownOperationException", text)
