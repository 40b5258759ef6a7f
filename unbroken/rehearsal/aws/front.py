"""In front of ministack: services of ours that speak REST, and a clear refusal of what nobody emulates.

ministack answers some services it knows little of with an empty success, and guesses at those it does not
know. Here a request for anything but a service this project stands for is refused, whatever it asks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qs, unquote

from ministack.core.concurrency import run_reentrant

from unbroken.rehearsal.aws.wire import Answer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Rest = Callable[[str, str, dict[str, str], bytes], Answer]
"""From method, path, query and body to the HTTP status and the answer."""

_SERVED = "budgets cloudformation ec2 fsx iam kms lambda logs monitoring s3 sagemaker secretsmanager ssm sts"
SERVED = frozenset(_SERVED.split())
"""By the name in the signature; the others of ministack's are not stood for."""
CODE = "UnknownOperationException"

_CREDENTIAL = re.compile(r"Credential=[^/\s]+/[^/]+/[^/]+/([^/]+)/")


class Front:
    """An ASGI application around ministack's."""

    def __init__(self, behind: App, rest: Mapping[str, Rest]) -> None:
        """``rest`` has the REST services of ours by the name in the signature."""
        self._behind = behind
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._behind(scope, receive, send)
            return
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        service = signed_for(headers, scope.get("query_string", b"").decode())
        if service in self._rest:
            await self._serve(self._rest[service], scope, receive, send)
        elif service and service not in SERVED:
            await _answer(send, *refusal(service, headers))
        else:
            await self._behind(scope, receive, send)

    async def _serve(self, rest: Rest, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()}
        status, answer = await run_reentrant(rest, scope["method"], unquote(scope["path"]), query, body)
        headers = {"content-type": "application/json"}
        if status >= 300:
            headers["x-amzn-errortype"] = str(answer["__type"])
            answer = {"message": answer["Message"]}
        await _answer(send, status, headers, json.dumps(answer).encode())


def signed_for(headers: dict[str, str], query: str) -> str:
    """The service a request is signed for; empty where it is not signed."""
    given = headers.get("authorization", "")
    found = _CREDENTIAL.search(given)
    if found:
        return found.group(1)
    credential = parse_qs(query).get("X-Amz-Credential", [""])[0].split("/")
    return credential[3] if len(credential) > 3 else ""


def refusal(service: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """The answer for a service that is not emulated, in the form of the protocol that was used."""
    text = f"{service} is not part of the embedded AWS: nothing is known of it here"
    if "x-www-form-urlencoded" in headers.get("content-type", ""):
        error = f"<Error><Type>Sender</Type><Code>{CODE}</Code><Message>{text}</Message></Error>"
        body = f"<ErrorResponse>{error}<RequestId>none</RequestId></ErrorResponse>".encode()
        return 400, {"content-type": "text/xml"}, body
    body = json.dumps({"__type": CODE, "message": text}).encode()
    return 400, {"content-type": "application/x-amz-json-1.1", "x-amzn-errortype": CODE}, body


async def _answer(send: Send, status: int, headers: dict[str, str], body: bytes) -> None:
    listed = [(name.encode(), value.encode()) for name, value in headers.items()]
    listed.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
