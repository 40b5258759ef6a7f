"""Loss of a process: a rank of the job dies on a sound machine."""

from __future__ import annotations

from unbroken.rehearsal.faults.target import Target, must

# The newest process of the trainer: the rank itself, not the launcher that watches it.
_KILL = "pkill -KILL -n -f 'training[.]pretrain'"


def kill_task(node: Target) -> None:
    """Kill one rank. FaultError if there is none."""
    must(node.inside(["sh", "-c", _KILL]), f"no rank of the job was found on {node.name}")
