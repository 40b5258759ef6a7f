"""Reaping what a broken-off visit leaves in a node.

A command that was run in a node from outside has its parent outside. When that is killed (Ctrl-C), the
command becomes the server's child, since the server is pid 1 of its namespace; and as long as nobody reaps
it, the kernel does not let the node's own pid 1 end.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def reap() -> None:
    """Reap dead children of this process that live in a node's PID namespace; it starts none there itself."""
    own_depth = len(_status(os.getpid()).get("NSpid", "").split())
    for pid in _pids():
        status = _status(pid)
        inside = len(status.get("NSpid", "").split()) > own_depth
        if inside and status.get("PPid") == str(os.getpid()) and status.get("State", "").startswith("Z"):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _status(pid: int) -> dict[str, str]:
    """/proc/<pid>/status; empty for a process that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
