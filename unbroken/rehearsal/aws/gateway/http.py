"""A small HTTP/1.1 server on a socket it is given; what it answers is a plain function from elsewhere."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

logger = logging.getLogger("unbroken.gateway")

IDLE_SECONDS = 60.0


class NoAnswer(Exception):
    """The request gets no answer at all: the connection is closed, as where nothing is reached."""


@dataclass(frozen=True)
class Request:
    """One request; header names are lower case."""

    method: str
    target: str
    """Path and query as sent."""
    headers: Mapping[str, str]
    body: bytes
    client: str
    """Address of the caller."""


@dataclass(frozen=True)
class Reply:
    """One answer."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Callable[[Request], Reply]


class Server:
    """Answers on one listening socket, a thread a connection."""

    def __init__(self, listening: socket.socket, answer: Answer, name: str) -> None:
        self._server = _Server(listening, answer)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name=name, daemon=True
        )

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Close the socket; connections under way end with the process."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, listening: socket.socket, answer: Answer) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.answer = answer

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug("connection from %s broke off", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def handle_any(self) -> None:
        """Read the request, answer it, and keep the connection."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            self._send(Reply(411, b"a length is required"))
            self.close_connection = True
            return
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(
            method=self.command,
            target=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length) if length else b"",
            client=str(self.client_address[0]),
        )
        try:
            self._send(self._answer(request))
        except NoAnswer as reason:
            logger.info("%s %s: no answer, %s", request.method, request.target, reason)
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def _answer(self, request: Request) -> Reply:
        try:
            return self.server.answer(request)
        except NoAnswer:
            raise
        except Exception:  # one bad request must not end the server; the log has it whole
            logger.exception("%s %s failed", request.method, request.target)
            return Reply(500, b"internal error of the rehearsal; see server.log")

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name in reply.headers):
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests of nodes are not worth a line each."""
