"""The files the service leaves in /opt/ml/config, read into one picture of the cluster.

Shapes as seen on real clusters: the group's key is ``Name``, ``Instances`` may be null or absent, there is no
role field. Writing Slurm's files from the picture is ``slurm_conf``'s part.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path("/opt/ml/config")
RESOURCES = "resource_config.json"
PROVISIONING = "provisioning_parameters.json"
AGENT = "cluster_agent.json"

AUTOMATIC = "Automatic"


@dataclass(frozen=True)
class Shape:
    """What Slurm is told about an instance type."""

    cpus: int = 2
    memory_mib: int = 4096
    gpus: int = 0


@dataclass(frozen=True)
class Node:
    """One instance of the cluster, under the name Slurm knows."""

    name: str
    address: str
    instance_id: str
    group: str
    instance_type: str


@dataclass(frozen=True)
class Cluster:
    """The cluster as the service's files have it."""

    name: str
    controller_group: str
    login_groups: tuple[str, ...]
    partitions: dict[str, str]
    """Worker group name -> partition name."""
    nodes: tuple[Node, ...]
    """All instances, the controller's too."""
    node_recovery: str = AUTOMATIC
    gres: bool = False
    login_in_slurm: bool = True
    keep_partitions: bool = False
    """Whether partitions added to slurm.conf by hand are kept (SlurmConfigStrategy Merge)."""
    shapes: dict[str, Shape] = field(default_factory=dict)

    def controller(self) -> Node | None:
        return next((node for node in self.nodes if node.group == self.controller_group), None)

    def slurm_nodes(self) -> tuple[Node, ...]:
        """Those that run slurmd: workers and, on current machine images, login nodes."""
        left_out = {self.controller_group} | (set() if self.login_in_slurm else set(self.login_groups))
        return tuple(node for node in self.nodes if node.group not in left_out)

    def shape(self, node: Node) -> Shape:
        return self.shapes.get(node.instance_type, Shape())


def node_name(address: str) -> str:
    """Slurm's name of a node: ip-10-0-128-10 for 10.0.128.10, never padded."""
    return "ip-" + address.replace(".", "-")


def read(folder: Path = FOLDER) -> Cluster | None:
    """The cluster; None while the files are not all there, or one is half written."""
    resources = _json(folder / RESOURCES)
    provisioning = _json(folder / PROVISIONING)
    if resources is None or provisioning is None:
        return None
    return parse(resources, provisioning, _json(folder / AGENT) or {})


def stamp(folder: Path = FOLDER) -> tuple[int, ...]:
    """Changes when one of the files does."""
    return tuple(_mtime(folder / name) for name in (RESOURCES, PROVISIONING, AGENT))


def parse(resources: dict[str, Any], provisioning: dict[str, Any], agent: dict[str, Any]) -> Cluster:
    """The picture from the three files' contents."""
    emulator = agent.get("Emulator") or {}
    groups = provisioning.get("worker_groups") or []
    return Cluster(
        name=resources["ClusterConfig"]["ClusterName"],
        controller_group=provisioning["controller_group"],
        login_groups=_login_groups(provisioning, emulator),
        partitions={group["instance_group_name"]: group["partition_name"] for group in groups},
        nodes=tuple(_nodes(resources.get("InstanceGroups") or [])),
        node_recovery=agent.get("NodeRecovery") or AUTOMATIC,
        gres=bool(emulator.get("Gres", False)),
        login_in_slurm=bool(emulator.get("LoginNodesInSlurm", True)),
        keep_partitions=bool(emulator.get("KeepPartitions", False)),
        shapes={kind: _shape(values) for kind, values in (emulator.get("InstanceTypes") or {}).items()},
    )


def _login_groups(provisioning: dict[str, Any], emulator: dict[str, Any]) -> tuple[str, ...]:
    """All login groups; provisioning_parameters.json has room for one."""
    one = provisioning.get("login_group")
    return tuple(emulator.get("LoginGroups") or ([one] if one else []))


def _nodes(groups: list[dict[str, Any]]) -> list[Node]:
    return [
        Node(
            node_name(instance["CustomerIpAddress"]),
            instance["CustomerIpAddress"],
            instance["InstanceId"],
            group["Name"],
            group.get("InstanceType", ""),
        )
        for group in groups
        for instance in group.get("Instances") or []
        if instance.get("CustomerIpAddress")
    ]


def _shape(values: dict[str, Any]) -> Shape:
    blank = Shape()
    return Shape(
        int(values.get("Cpus", blank.cpus)),
        int(values.get("MemoryMib", blank.memory_mib)),
        int(values.get("Gpus", blank.gpus)),
    )


def _json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _mtime(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
