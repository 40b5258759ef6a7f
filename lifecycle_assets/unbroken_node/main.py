"""All steps in order on this node, or one thing of them again, when systemd asks for it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from unbroken_node import slurm_settings
from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.journal import Journal, StepFailed
from unbroken_node.node import Node, discover
from unbroken_node.settings import read_settings
from unbroken_node.step import reach
from unbroken_node.steps import STEPS

ROLE_STEP = "10-role"


def main(bundle: Path, host: Host | None = None, journal: Journal | None = None) -> int:
    """Run every step this node needs, from the bundle's folder; return the process's exit code."""
    host = host or Host()
    journal = journal or Journal(host)
    try:
        _run(bundle, host, journal)
    except StepFailed as failed:
        return failed.exit_code
    return 0


def keep_slurm_conf(bundle: Path, host: Host | None = None) -> int:
    """Put the cluster file's settings back into Slurm's configuration; return the exit code."""
    try:
        changed = slurm_settings.put(host or Host(), read_settings(bundle))
    except NodeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print("settings put back" if changed else "nothing to do")
    return 0


def _run(bundle: Path, host: Host, journal: Journal) -> None:
    found: list[Node] = []

    def role() -> str:
        found.append(discover(host, bundle))
        return found[0].role

    journal.record(ROLE_STEP, role)
    node = found[0]
    for step in STEPS:
        if step.applies(node):
            tell = partial(step.tell, host, node) if step.tell else None
            journal.record(step.name, partial(reach, step, host, node), tell)
