"""The node that a fault breaks, as far as a fault needs to know it."""

from __future__ import annotations

from collections.abc import Sequence
from subprocess import CompletedProcess
from typing import Protocol


class FaultError(Exception):
    """A fault could not be injected; the message says why."""


class Target(Protocol):
    """One running node."""

    @property
    def name(self) -> str:
        """Host name."""

    @property
    def inner_pid(self) -> int:
        """Process id of its init, in the namespace where all nodes run."""

    def inside(self, argv: Sequence[str]) -> CompletedProcess[str]:
        """Run a command as root on the node."""

    def beside(self, argv: Sequence[str]) -> CompletedProcess[str]:
        """Run a command as root where the node's init is a process like any other."""


def must(done: CompletedProcess[str], problem: str) -> None:
    """FaultError with what the command said, unless it succeeded."""
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()
        raise FaultError(f"{problem}: {words or f'exit code {done.returncode}'}")
