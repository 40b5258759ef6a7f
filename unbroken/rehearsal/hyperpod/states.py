"""What the service remembers: clusters, groups and nodes, with the states the API has for each.

Plain records without behaviour; every change goes through ``journal.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from unbroken.rehearsal.hyperpod.machines import Machine, Subnet


class ClusterStatus(str, Enum):
    """ClusterStatus of the SageMaker API."""

    CREATING = "Creating"
    DELETING = "Deleting"
    FAILED = "Failed"
    IN_SERVICE = "InService"
    ROLLING_BACK = "RollingBack"
    SYSTEM_UPDATING = "SystemUpdating"
    UPDATING = "Updating"


SETTLED = frozenset({ClusterStatus.IN_SERVICE, ClusterStatus.FAILED})
"""Statuses in which no operation on the whole cluster runs."""


class NodeStatus(str, Enum):
    """InstanceStatus.Status of the SageMaker API, as far as it is emulated."""

    RUNNING = "Running"
    FAILURE = "Failure"
    PENDING = "Pending"
    SHUTTING_DOWN = "ShuttingDown"
    SYSTEM_UPDATING = "SystemUpdating"
    DEEP_HEALTH_CHECK = "DeepHealthCheckInProgress"


@dataclass(frozen=True)
class Network:
    """Where a group's nodes are: a subnet, and the security groups of their interfaces."""

    subnet: Subnet
    security_group_ids: tuple[str, ...]


@dataclass(frozen=True)
class Slurm:
    """Which group has which part in Slurm."""

    controller_group: str
    login_groups: tuple[str, ...] = ()
    partitions: Mapping[str, str] = field(default_factory=dict)
    """Group of compute nodes -> its partition, beside the one that holds every node."""
    by_api: bool = False
    """Whether the groups' own SlurmConfig says so, and the service configures Slurm itself."""

    @property
    def heads(self) -> tuple[str, ...]:
        """The groups that do not run jobs."""
        return (self.controller_group, *self.login_groups)


@dataclass(frozen=True)
class TrainingPlan:
    """Capacity reserved in advance."""

    arn: str
    instance_type: str
    availability_zone_id: str
    total: int
    """Instances in it."""
    status: str = "Active"


@dataclass(frozen=True)
class Sighting:
    """A node's status from one moment on."""

    t: float
    status: NodeStatus
    message: str


@dataclass
class Node:
    """One place in the cluster; the instance that fills it may be replaced."""

    group: str
    index: int
    """Counts from 1 within the group."""
    address: str
    instance_id: str
    launched: float
    history: list[Sighting]
    """Never empty; the last entry is the truth, the API may still show an earlier one."""
    machine: Machine | None = None
    interface_id: str | None = None
    software_updated: float | None = None
    released: float = float("-inf")
    """When the last operation that held it ended."""
    resource_config: bytes = b""
    """The resource_config.json its machine has."""
    leaving: bool = False
    """It is being taken down: no machine may be given to it any more."""
    operation: str | None = None
    """The operation that holds this node now; None when it is free."""

    @property
    def name(self) -> str:
        """Host name and Slurm name: ``ip-A-B-C-D``, never zero-padded."""
        return "ip-" + self.address.replace(".", "-")

    @property
    def instance_name(self) -> str:
        """The name in resource_config.json: ``<group>-<n>``."""
        return f"{self.group}-{self.index}"

    @property
    def status(self) -> NodeStatus:
        """The status now."""
        return self.history[-1].status

    @property
    def message(self) -> str:
        """The message now; it stays after the status it came with is over."""
        return self.history[-1].message

    def seen_at(self, t: float) -> Sighting:
        """What was true at a time; the oldest known where the time lies before it."""
        return next((s for s in reversed(self.history) if s.t <= t), self.history[0])


@dataclass
class Group:
    """One instance group: what was asked for, and how far it is."""

    spec: Mapping[str, Any]
    """A ClusterInstanceGroupSpecification of the API."""
    network: Network
    status: str = "Creating"
    software_update: str | None = None

    @property
    def name(self) -> str:
        """InstanceGroupName."""
        return str(self.spec["InstanceGroupName"])

    @property
    def target(self) -> int:
        """How many instances it should have."""
        return int(self.spec["InstanceCount"])

    @property
    def minimum(self) -> int:
        """MinInstanceCount; 0 where none is set."""
        return int(self.spec.get("MinInstanceCount", 0))


@dataclass
class Cluster:
    """One cluster."""

    name: str
    cluster_id: str
    arn: str
    created: float
    request: dict[str, Any]
    """The CreateCluster request without its groups, with later updates folded in."""
    groups: dict[str, Group]
    slurm: Slurm
    munge_key: bytes
    network: Network
    """Where groups are that do not say otherwise."""
    status: ClusterStatus = ClusterStatus.CREATING
    failure: str = ""
    last_ok: bool = True
    """Whether the last operation on the whole cluster succeeded."""
    patched: bool = False
    nodes: list[Node] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    """ClusterEventSummary records, oldest first."""

    @property
    def continuous(self) -> bool:
        """Whether NodeProvisioningMode is Continuous."""
        return self.request.get("NodeProvisioningMode") == "Continuous"

    @property
    def recovers(self) -> bool:
        """Whether NodeRecovery lets the service act by itself."""
        return bool(self.request.get("NodeRecovery", "Automatic") == "Automatic")

    def members(self, group: str) -> list[Node]:
        """A group's nodes in the order of their index."""
        return sorted((n for n in self.nodes if n.group == group), key=lambda n: n.index)

    def controllers(self) -> list[Node]:
        """The controller group's nodes."""
        return self.members(self.slurm.controller_group)

    def is_controller(self, node: Node) -> bool:
        """Whether the node belongs to the controller group."""
        return node.group == self.slurm.controller_group

    def network_of(self, node: Node) -> Network:
        """The network of the node's group."""
        return self.groups[node.group].network
