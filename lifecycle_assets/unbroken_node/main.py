"""All steps in order on this node, or one thing of them again, on a node that runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from unbroken_node import slurm_settings
from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.journal import Journal, StepFailed
from unbroken_node.node import CONTROLLER, Node, discover, discover_again
from unbroken_node.settings import read_settings
from unbroken_node.step import Step, reach
from unbroken_node.steps import JOB_STEPS, STEPS

ROLE_STEP = "10-role"
JOB = "job"
"""The bundle's argument that brings a controller to the bundle's job."""


def main(bundle: Path, host: Host | None = None, journal: Journal | None = None) -> int:
    """Run every step this node needs, from the bundle's folder; return the process's exit code."""
    return _run(STEPS, discover, bundle, host or Host(), journal)


def take_job(bundle: Path, host: Host | None = None, journal: Journal | None = None) -> int:
    """Bring a controller that runs to the bundle's job, and to nothing else of it; return the exit code."""
    return _run(JOB_STEPS, _controller, bundle, host or Host(), journal)


def keep_slurm_conf(bundle: Path, host: Host | None = None) -> int:
    """Put the cluster file's settings back into Slurm's configuration; return the exit code."""
    try:
        changed = slurm_settings.put(host or Host(), read_settings(bundle))
    except NodeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print("settings put back" if changed else "nothing to do")
    return 0


def _run(
    steps: Sequence[Step],
    find: Callable[[Host, Path], Node],
    bundle: Path,
    host: Host,
    journal: Journal | None,
) -> int:
    journal, found = journal or Journal(host), list[Node]()

    def role() -> str:
        found.append(find(host, bundle))
        return found[0].role

    try:
        journal.record(ROLE_STEP, role)
        for step in steps:
            if step.applies(found[0]):
                _record(step, host, found[0], journal)
    except StepFailed as failed:
        return failed.exit_code
    return 0


def _record(step: Step, host: Host, node: Node, journal: Journal) -> None:
    tell = partial(step.tell, host, node) if step.tell else None
    journal.record(step.name, partial(reach, step, host, node), tell)


def _controller(host: Host, bundle: Path) -> Node:
    """This node, which must be the controller: it alone puts the job on the shared file system."""
    if not host.is_root():
        raise NodeError("only root may do this: run it with sudo")
    node = discover_again(host, bundle)
    if node.role != CONTROLLER:
        raise NodeError(
            f"this is a {node.role} node: run it on the controller, at {' or '.join(node.controllers)}"
        )
    return node
