"""The cluster file as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.config.rules import between
from unbroken.config.section import Fault
from unbroken.config.sections import Sections


class ClusterConfig(Sections):
    """One HyperPod cluster with Slurm, all that it stands on, and its job."""

    def faults(self) -> Iterator[Fault]:
        """The rules between sections."""
        yield from between(self)
