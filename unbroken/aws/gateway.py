"""What the verbs may ask of AWS, as a Protocol, and the plain values it answers with.

How it is asked is in ``boto.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class AwsError(Exception):
    """AWS could not be asked, or refused: ``str()`` says what was asked and said, ``hint`` one way out."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Stack:
    """A CloudFormation stack."""

    name: str
    status: str
    reason: str
    outputs: Mapping[str, str]


@dataclass(frozen=True)
class StackEvent:
    """One event of a stack."""

    time: datetime
    logical_id: str
    resource_type: str
    status: str
    reason: str


@dataclass(frozen=True)
class Group:
    """An instance group of a HyperPod cluster."""

    name: str
    instance_type: str
    current: int
    target: int
    status: str
    """Empty where the service does not say."""


@dataclass(frozen=True)
class Cluster:
    """A HyperPod cluster."""

    name: str
    arn: str
    status: str
    failure: str
    """The service's failure message; it may outlive the failure."""
    node_recovery: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Node:
    """A node of a HyperPod cluster, as ListClusterNodes tells of it."""

    group: str
    instance_id: str
    instance_type: str
    status: str
    message: str
    launched: datetime


@dataclass(frozen=True)
class ClusterEvent:
    """One event of a HyperPod cluster; only clusters with continuous provisioning have any."""

    time: datetime
    level: str
    resource: str
    """Cluster, InstanceGroup or Instance."""
    description: str
    instance_id: str


class Aws(Protocol):
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def stack(self, name: str) -> Stack | None:
        """The stack, or None where there is none or it is deleted."""

    def stack_events(self, name: str) -> list[StackEvent]:
        """The stack's events, oldest first; none for a stack that does not exist."""

    def cluster(self, name: str) -> Cluster | None:
        """The cluster, or None where there is none."""

    def nodes(self, cluster: str) -> list[Node]:
        """The cluster's nodes, by group and instance id; none for a cluster that does not exist."""

    def cluster_events(self, cluster: str) -> list[ClusterEvent] | None:
        """The cluster's events, oldest first; None for a cluster that keeps none."""
