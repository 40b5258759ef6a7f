"""Looks at a port of many nodes at once; what a sight means is ``node_state``'s part."""

from __future__ import annotations

import errno
import selectors
import socket
import time
from collections.abc import Mapping

from cluster_agent.node_state import Reach

TIMEOUT_SECONDS = 0.4


def look(targets: Mapping[str, tuple[str, int]], timeout: float = TIMEOUT_SECONDS) -> dict[str, Reach]:
    """How each node (name -> address and port) answers within ``timeout`` seconds, all asked together."""
    seen = dict.fromkeys(targets, Reach.SILENT)
    with selectors.DefaultSelector() as waiting:
        for name, target in targets.items():
            _begin(waiting, name, target, seen)
        _collect(waiting, seen, time.monotonic() + timeout)
        for key in list(waiting.get_map().values()):
            waiting.unregister(key.fileobj)
            _socket(key).close()
    return seen


def _begin(
    waiting: selectors.BaseSelector, name: str, address: tuple[str, int], seen: dict[str, Reach]
) -> None:
    connection = socket.socket()
    connection.setblocking(False)
    code = connection.connect_ex(address)
    if code == errno.EINPROGRESS:
        waiting.register(connection, selectors.EVENT_WRITE, name)
        return
    connection.close()
    seen[name] = _meaning(code)


def _collect(waiting: selectors.BaseSelector, seen: dict[str, Reach], deadline: float) -> None:
    while waiting.get_map() and (left := deadline - time.monotonic()) > 0:
        for key, _ in waiting.select(left):
            connection = _socket(key)
            seen[key.data] = _meaning(connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
            waiting.unregister(connection)
            connection.close()


def _socket(key: selectors.SelectorKey) -> socket.socket:
    if isinstance(key.fileobj, socket.socket):
        return key.fileobj
    raise TypeError("only sockets are registered here")


def _meaning(code: int) -> Reach:
    return {0: Reach.OPEN, errno.ECONNREFUSED: Reach.REFUSED}.get(code, Reach.SILENT)
