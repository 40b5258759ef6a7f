"""Which parts of a cluster cost: by the hour or month whether used or not, and by use.

Parts that are brought along (a VPC, a file system, a bucket, a key) cost with or without the cluster, so they
are not on its bill.
"""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.config import ClusterConfig
from unbroken.config.endpoints import endpoint_services
from unbroken.config.groups import InstanceGroup, WorkerGroup
from unbroken.ops.cost import file_systems
from unbroken.ops.cost.model import ByUse, Item, Until, until


def items(config: ClusterConfig) -> list[Item]:
    """Everything that costs while it exists, nodes first."""
    groups = [item for group in config.groups() for item in _group(group)]
    shared = [*file_systems.lustre(config), *file_systems.home(config)]
    return [*groups, *shared, *_network(config), *_key(config)]


def by_use(config: ClusterConfig) -> list[ByUse]:
    """Everything that costs by use."""
    return [*file_systems.by_use(config), *_network_use(config), *_other_use(config)]


def _group(group: InstanceGroup) -> Iterator[Item]:
    """The nodes of a group, and the volumes they have besides their roots."""
    prepaid, kind = False, "node"
    if isinstance(group, WorkerGroup):
        prepaid = group.training_plan is not None
        kind = "spot" if group.capacity == "spot" else "node"
    detail = f"{group.num_instances} x {group.instance_type}{', spot' if kind == 'spot' else ''}"
    key = f"{kind}:{group.instance_type}"
    yield Item(group.name, detail, key, group.num_instances, Until.CLUSTER, prepaid)
    if group.ebs_gib:
        volumes = f"{group.num_instances} x {group.ebs_gib} GiB volume"
        yield Item(group.name, volumes, "node-volume", group.num_instances * group.ebs_gib, Until.CLUSTER)


def _network(config: ClusterConfig) -> Iterator[Item]:
    if config.network.existing is not None:
        return
    if config.network.no_internet:
        count = len(endpoint_services(config))
        yield Item("interface endpoints", f"{count} in one zone", "interface-endpoint", count, Until.DOWN)
        return
    yield Item("NAT gateway", "1", "nat-gateway", 1, Until.DOWN)
    yield Item("public address", "1, of the NAT gateway", "public-ipv4", 1, Until.DOWN)


def _key(config: ClusterConfig) -> Iterator[Item]:
    if config.encryption.kms_key == "create":
        yield Item("KMS key", "1", "kms-key", 1, until(config.encryption.deletion))


def _network_use(config: ClusterConfig) -> Iterator[ByUse]:
    if config.network.existing is None:
        way = "interface endpoints" if config.network.no_internet else "NAT gateway"
        yield ByUse(way, "GB through it; S3 goes past it")
        if config.network.flow_logs:
            yield ByUse("flow logs", "GB written and kept")


def _other_use(config: ClusterConfig) -> Iterator[ByUse]:
    yield ByUse("nodes' logs", "GB written and kept")
    if config.observability.prometheus == "create":
        yield ByUse("Prometheus", "samples written, kept and asked for")
    if config.observability.grafana == "create":
        yield ByUse("Grafana", "people who log in, a month")
    if config.encryption.kms_key == "create":
        yield ByUse("KMS key", "requests, and key material of past rotations")
