"""The faults a rehearsal can inject: each a small function with a name and a description, listed in FAULTS.

They only break things; what follows is watched by unbroken.ops.rehearse.drill and told by the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unbroken.rehearsal.faults.power import power_off
from unbroken.rehearsal.faults.target import FaultError, Target
from unbroken.rehearsal.faults.task import kill_task

__all__ = ["FAULTS", "Fault", "FaultError", "Target"]


@dataclass(frozen=True)
class Fault:
    """A way for a node of a job to break."""

    name: str
    kind: str
    """Its kind in the event log."""
    description: str
    victim: int
    """Index of the node among the job's: 0 runs the batch script, -1 is the last."""
    inject: Callable[[Target], None]
    replaces_node: bool
    """Whether the node is expected to be replaced."""

    def choose(self, hosts: Sequence[str]) -> str:
        """The node to break among the job's nodes, of which the first runs the batch script."""
        return hosts[self.victim]


_ALL = (
    Fault(
        "worker",
        "power_off",
        "the link of the job's last node is cut and its init killed, as when a machine loses power",
        -1,
        power_off,
        replaces_node=True,
    ),
    Fault(
        "first-node",
        "power_off",
        "the link of the job's first node, which runs the batch script, is cut and its init killed",
        0,
        power_off,
        replaces_node=True,
    ),
    Fault(
        "task",
        "kill_task",
        "one rank of the job is killed on its last node; the machine itself is sound",
        -1,
        kill_task,
        replaces_node=False,
    ),
)
FAULTS = {fault.name: fault for fault in _ALL}
