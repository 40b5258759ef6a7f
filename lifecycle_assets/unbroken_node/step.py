"""What a step is, and how it is run: check, apply, check again, and one line in the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.node import COMPUTE, CONTROLLER, LOGIN, Node
from unbroken_node.settings import API, SCRIPTS

EVERY_ROLE = frozenset({CONTROLLER, LOGIN, COMPUTE})
EVERY_MODE = frozenset({SCRIPTS, API})


def _always(_node: Node) -> bool:
    return True


@dataclass(frozen=True)
class Step:
    """A state that a node must be in, and the way there.

    `check` returns None when the state holds, else what is missing, and changes nothing. `apply` may be run
    again at any time, also after it was cut short. `roles` and `modes` say which nodes need the step, and
    `wanted` whether the cluster does. In `api` mode HyperPod itself mounts file systems and starts Slurm:
    such a step has another form there, which looks and waits.
    """

    name: str
    check: Callable[[Host, Node], str | None]
    apply: Callable[[Host, Node], None]
    roles: frozenset[str] = EVERY_ROLE
    modes: frozenset[str] = EVERY_MODE
    wanted: Callable[[Node], bool] = _always
    tell: Callable[[Host, Node], str] | None = None
    """What the log shall say of it, beside its result."""

    def applies(self, node: Node) -> bool:
        """Tell whether this node needs the step."""
        return node.role in self.roles and node.settings.mode in self.modes and self.wanted(node)


def reach(step: Step, host: Host, node: Node) -> str:
    """Bring the node into the step's state; return "skipped" or "applied", raise NodeError if it is not."""
    if step.check(host, node) is None:
        return "skipped"
    step.apply(host, node)
    missing = step.check(host, node)
    if missing is not None:
        raise NodeError(f"still not right after the step was applied: {missing}")
    return "applied"
