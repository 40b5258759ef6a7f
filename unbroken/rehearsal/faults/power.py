"""Loss of power: the node is gone from one moment to the next, and nobody is told."""

from __future__ import annotations

from unbroken.rehearsal.faults.target import Target, must


def power_off(node: Target) -> None:
    """Cut the link, then kill the node's init. FaultError if either fails.

    The link goes first: a dying node's kernel would close its connections, and so tell the others what a
    machine without power cannot tell.
    """
    pid = node.inner_pid
    cut = f"nsenter --net=/proc/{pid}/ns/net ip link set eth0 down"
    must(node.beside(["sh", "-c", f"{cut} && kill -KILL {pid}"]), f"{node.name} could not be powered off")
