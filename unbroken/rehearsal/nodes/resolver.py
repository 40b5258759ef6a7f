"""The VPC's DNS for the nodes: host names of nodes and file systems to addresses, anything else is unknown.

Answers A queries over UDP, as the Amazon-provided resolver does for ``ip-10-0-128-10`` and its long forms.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

_NAME_ERROR = 3
_TYPE_A = 1
_TTL_SECONDS = 5


class Resolver:
    """A table of names and a thread that answers from it on one socket."""

    def __init__(self, endpoint: socket.socket) -> None:
        self._endpoint = endpoint
        self._table: dict[str, str] = {}
        threading.Thread(target=self._serve, name="resolver", daemon=True).start()

    def add(self, name: str, address: str) -> None:
        """Answer ``name``, and ``name`` followed by any domain, with ``address``."""
        self._table[name.lower()] = address

    def close(self) -> None:
        """Stop answering. Safe to call twice."""
        with contextlib.suppress(OSError):
            self._endpoint.shutdown(socket.SHUT_RDWR)
        self._endpoint.close()

    def _serve(self) -> None:
        while True:
            try:
                query, peer = self._endpoint.recvfrom(1500)
            except OSError:
                return
            if not peer:
                return
            with contextlib.suppress(OSError, IndexError, struct.error):
                self._endpoint.sendto(answer(query, self._address), peer)

    def _address(self, name: str) -> str | None:
        return self._table.get(name) or self._table.get(name.split(".")[0])


def answer(query: bytes, lookup: Callable[[str], str | None]) -> bytes:
    """The DNS answer to a query with one question; raises IndexError or struct.error on a malformed one."""
    name, end = _question(query)
    kind = struct.unpack_from("!H", query, end)[0]
    address = lookup(name)
    records = b""
    if address is not None and kind == _TYPE_A:
        records = struct.pack("!HHHIH", 0xC00C, _TYPE_A, 1, _TTL_SECONDS, 4) + socket.inet_aton(address)
    flags = 0x8580 | (0 if address is not None else _NAME_ERROR)
    header = query[:2] + struct.pack("!HHHHH", flags, 1, 1 if records else 0, 0, 0)
    return header + query[12 : end + 4] + records


def _question(query: bytes) -> tuple[str, int]:
    """The name asked for, in lower case, and where its type begins."""
    labels: list[str] = []
    at = 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace"))
        at += query[at] + 1
    return ".".join(labels).lower(), at + 1
