"""Instance groups of the cluster file: one controller, an optional login group, worker groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.catalog import instance_types
from unbroken.config.encryption import KeyArn
from unbroken.config.fields import (
    EbsGib,
    GroupName,
    InstanceCount,
    InstanceTypeName,
    PartitionName,
    SecurityGroupId,
    ThreadsPerCore,
)
from unbroken.config.section import Fault, Section, refusal
from unbroken.config.updates import AutoPatch, ScheduledUpdate
from unbroken.config.zones import ZoneId


def _image(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"ami-[0-9a-f]{8,17}", value):
        raise refusal("is not the id of a machine image", "write it as ami-0123456789abcdef0")
    return value


def _plan_arn(value: str) -> str:
    if not re.fullmatch(r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:\d{12}:training-plan/[\w-]+", value):
        raise refusal(
            "is not the ARN of a training plan",
            "write arn:aws:sagemaker:<region>:<account>:training-plan/<name>",
        )
    return value


class TrainingPlan(Section):
    """Capacity reserved and paid for in advance."""

    arn: Annotated[str, AfterValidator(_plan_arn)]
    """The plan's ARN."""
    availability_zone_id: ZoneId
    """The zone its capacity is in, as DescribeTrainingPlan says; the ARN does not tell."""


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
    volume_kms_key: KeyArn = None
    """ARN of the key for this group's volumes, the root volume too; ``encryption.kms_key`` unless given."""
    image_id: Annotated[str | None, AfterValidator(_image)] = None
    """Machine image; HyperPod's own unless given."""
    subnet: str | None = None
    """Where its nodes are: a name of ``network.subnets``, or a subnet's id; the private one unless given."""
    security_group_ids: Annotated[list[SecurityGroupId], Field(max_length=4)] = Field(default_factory=list)
    """Further security groups of the group's nodes, beside the cluster's own."""
    scheduled_update: ScheduledUpdate | None = None
    """Software updates at set times."""
    auto_patch: AutoPatch | None = None
    """Security patches whenever nodes are idle."""

    def faults(self) -> Iterator[Fault]:
        """No more threads per core than the processor has, and one source of images."""
        most = instance_types.get(self.instance_type).max_threads_per_core
        if most is not None and self.threads_per_core > most:
            rule = f"is more than {self.instance_type} has"
            yield Fault(("threads_per_core",), self.threads_per_core, rule, f"use {most}")
        if self.image_id is not None and self.auto_patch is not None:
            rule = "together with auto_patch, which puts HyperPod's own images on the nodes"
            yield Fault(("image_id",), self.image_id, rule, "keep one of the two")


class ControllerGroup(InstanceGroup):
    """The one controller: slurmctld, slurmdbd and the accounting database."""

    name: GroupName = "controller-machine"
    """Name of the controller's group."""
    instance_type: InstanceTypeName = "ml.m5.12xlarge"
    """A type with the memory for slurmctld and MariaDB."""
    num_instances: InstanceCount = 1
    """Always 1; several controllers come later."""
    ebs_gib: EbsGib | None = 500
    """Size of the volume at /opt/sagemaker, GiB."""

    def faults(self) -> Iterator[Fault]:
        """One controller, no more."""
        yield from super().faults()
        if self.num_instances != 1:
            yield Fault(
                ("num_instances",),
                self.num_instances,
                "controllers: this version makes exactly one; several controllers come later",
                "use 1",
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
    min_instances: Annotated[int, Field(ge=0, le=6758)] | None = None
    """Nodes that must be there before the group is usable (continuous provisioning)."""
    capacity: Literal["on-demand", "spot"] = "on-demand"
    """How the nodes are bought; spot nodes can be taken back at any time."""
    training_plan: TrainingPlan | None = None
    """Capacity reserved in advance."""
    deep_health_checks: Annotated[
        list[Literal["InstanceStress", "InstanceConnectivity"]], Field(max_length=2)
    ] = Field(default_factory=list)
    """Checks on new nodes before they take jobs; types with accelerators only."""

    def faults(self) -> Iterator[Fault]:
        """What the type, the count and the way of buying allow."""
        yield from super().faults()
        if self.min_instances is not None and self.min_instances > self.num_instances:
            rule = f"is more than num_instances, {self.num_instances}"
            yield Fault(("min_instances",), self.min_instances, rule, f"use at most {self.num_instances}")
        if self.training_plan is not None and self.capacity == "spot":
            rule = "together with a training plan, which is capacity that is paid for already"
            yield Fault(("capacity",), self.capacity, rule, "leave it out")
        yield from self._health_checks()

    def _health_checks(self) -> Iterator[Fault]:
        checks, row = self.deep_health_checks, instance_types.get(self.instance_type)
        if checks and row.gpus == 0 and row.neuron_devices == 0:
            rule = f"test accelerators, and {self.instance_type} has none"
            yield Fault(("deep_health_checks",), checks, rule, "leave it out")
        if len(set(checks)) < len(checks):
            yield Fault(("deep_health_checks",), checks, "name a check twice", "name each once")
