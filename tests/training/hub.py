"""A stand-in for the Hugging Face hub on loopback, which notes every request and the process that made it."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" * 6 + "abcd"


@dataclass
class Hub:
    """`files` of each repository, by `datasets/owner/name` or `owner/name`; `gated` ones ask for a token."""

    repositories: dict[str, Mapping[str, bytes]]
    gated: set[str] = field(default_factory=set)
    token: str = "hf_right"  # noqa: S105  # of the stand-in
    held: set[str] = field(default_factory=set)
    """Files that are not sent before `release` is set."""
    release: threading.Event = field(default_factory=threading.Event)
    refusing: int = 0
    """So many requests are answered with 429 first."""
    requests: list[tuple[int, str, str]] = field(default_factory=list)
    """Process, method and path."""
    unknown: list[str] = field(default_factory=list)
    """Requests it does not know; a test must find none."""
    url: str = ""

    def processes(self) -> set[int]:
        """Those that asked, but for one that was gone before it could be told which it was."""
        return {process for process, _method, _path in self.requests} - {0}


@contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    """Answer for the hub until the end of the block."""

    class Handler(_Handler):
        pass

    Handler.hub = hub
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((_process_of(self.client_address[1]), self.command, path))
        if self.hub.refusing > 0:
            self.hub.refusing -= 1
            return self._send(429, b"slow down", {"Retry-After": "0"})
        if match := re.fullmatch(r"/api/(datasets|models)/([\w.-]+/[\w.-]+)(?:/(\w[\w-]*)(?:/(.*))?)?", path):
            kind, name, verb, rest = match.groups()
            return self._api(
                ("datasets/" if kind == "datasets" else "") + name, verb or "revision", rest, body
            )
        if match := re.fullmatch(r"/((?:datasets/)?[\w.-]+/[\w.-]+)/resolve/([^/]+)/(.*)", path):
            return self._file(match[1], match[3])
        self.hub.unknown.append(f"{self.command} {path}")
        return self._send(404, b"unknown")

    def _refused(self, name: str, *, of_file: bool) -> bool:
        if name not in self.hub.repositories:
            self._send(
                401 if not self.headers.get("Authorization") else 404, b"", {"X-Error-Code": "RepoNotFound"}
            )
            return True
        if (
            of_file
            and name in self.hub.gated
            and self.headers.get("Authorization") != f"Bearer {self.hub.token}"
        ):
            words = f"Access to {name} is restricted. You must have access to it and be authenticated."
            self._send(401, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": words})
            return True
        return False

    def _api(self, name: str, verb: str, rest: str | None, body: bytes) -> None:
        if self._refused(name, of_file=False):
            return
        files = self.hub.repositories[name]
        bare = name.removeprefix("datasets/")
        if verb == "revision":
            siblings = [{"rfilename": each} for each in files]
            gated = "auto" if name in self.hub.gated else False
            self._json(
                {
                    "_id": "1",
                    "id": bare,
                    "sha": COMMIT,
                    "siblings": siblings,
                    "private": False,
                    "gated": gated,
                    "downloads": 0,
                    "likes": 0,
                    "tags": [],
                    "disabled": False,
                }
            )
        elif verb == "tree":
            folder = (rest or "").partition("/")[2]
            self._json(list(_entries(files, folder, recursive="recursive=True" in self.path)))
        elif verb == "paths-info":
            wanted = (
                json.loads(body)["paths"]
                if body.startswith(b"{")
                else re.findall(r"paths=([^&]*)", unquote(body.decode()))
            )
            self._json([each for path in wanted for each in _entries(files, path)])
        else:
            self.hub.unknown.append(f"{self.command} {self.path}")
            self._send(404, b"unknown")

    def _file(self, name: str, path: str) -> None:
        if self._refused(name, of_file=True):
            return
        if path in self.hub.held and self.command == "GET":
            self.hub.release.wait(60)
        content = self.hub.repositories[name].get(path)
        if content is None:
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
        headers = {
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Repo-Commit": COMMIT,
            "Accept-Ranges": "bytes",
        }
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            first, last = int(match[1]), int(match[2] or len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            return self._send(206, content[first : last + 1], headers)
        return self._send(200, content, headers)

    def _json(self, content: Any) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _entries(files: Mapping[str, bytes], folder: str, *, recursive: bool = False) -> Iterator[dict[str, Any]]:
    """Files at or below a path, and, unless recursive, the folders directly in it."""
    seen = set()
    prefix = f"{folder}/" if folder else ""
    for path, content in files.items():
        if path != folder and not path.startswith(prefix):
            continue
        rest = path.removeprefix(prefix) if path != folder else ""
        if "/" in rest:
            name = prefix + rest.partition("/")[0]
            if name not in seen:
                seen.add(name)
                yield {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
            if not recursive:
                continue
        yield {
            "type": "file",
            "oid": hashlib.sha256(content).hexdigest()[:40],
            "size": len(content),
            "path": path,
        }


def _process_of(port: int) -> int:
    """The process that has this port of loopback open; 0 when it is gone."""
    wanted = f"0100007F:{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    inodes = [line.split()[9] for line in lines if line.split()[1] == wanted]
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if inodes and str(link.readlink()) == f"socket:[{inodes[0]}]":
                return int(link.parts[2])
        except OSError:
            continue
    return 0
