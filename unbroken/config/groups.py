"""Instance groups of the cluster file: one controller, an optional login group, worker groups."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.catalog import instance_types
from unbroken.config.fields import (
    EbsGib,
    GroupName,
    InstanceCount,
    InstanceTypeName,
    PartitionName,
    ThreadsPerCore,
)
from unbroken.config.section import Fault, Section


class InstanceGroup(Section):
    """What every group has."""

    name: GroupName
    """Unique in the cluster; nodes are called ``<name>-<n>``."""
    instance_type: InstanceTypeName
    """HyperPod's name of the type, with ``ml.``."""
    num_instances: InstanceCount
    """Nodes in the group."""
    threads_per_core: ThreadsPerCore = 1
    """1 turns simultaneous multithreading off."""
    ebs_gib: EbsGib | None = None
    """Size of the volume at /opt/sagemaker, GiB; none unless given."""

    def faults(self) -> Iterator[Fault]:
        """No more threads per core than the processor has."""
        most = instance_types.get(self.instance_type).max_threads_per_core
        if self.threads_per_core > most:
            rule = f"is more than {self.instance_type} has"
            yield Fault(("threads_per_core",), self.threads_per_core, rule, f"use {most}")


class ControllerGroup(InstanceGroup):
    """The one controller: slurmctld, slurmdbd and the accounting database."""

    name: GroupName = "controller-machine"
    """Name of the controller's group."""
    instance_type: InstanceTypeName = "ml.m5.12xlarge"
    """A type with the memory for slurmctld and MariaDB."""
    num_instances: InstanceCount = 1
    """Always 1: this version makes one controller."""
    ebs_gib: EbsGib | None = 500
    """Size of the volume at /opt/sagemaker, GiB."""

    def faults(self) -> Iterator[Fault]:
        """One controller, no more."""
        yield from super().faults()
        if self.num_instances != 1:
            yield Fault(
                ("num_instances",), self.num_instances, "controllers: this version makes exactly one", "use 1"
            )


class LoginGroup(InstanceGroup):
    """Nodes for people to log in to, so that the controller is left to Slurm. Jobs do not run on them.

    The machine image must list login nodes in Slurm, as HyperPod's current ones do.
    """

    name: GroupName = "login-group"
    """Name of the login group."""
    instance_type: InstanceTypeName = "ml.m5.4xlarge"
    """A type without accelerators."""
    num_instances: InstanceCount = 1
    """Login nodes."""


class WorkerGroup(InstanceGroup):
    """Nodes that run jobs, all of one type."""

    partition: PartitionName = "dev"
    """Slurm partition of the group; two groups may share one. ``dev`` holds every node in any case."""
