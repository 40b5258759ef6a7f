"""What the region and the way of provisioning offer to groups."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.catalog import instance_types
from unbroken.config.rules.needs import GROUPS, Rule, reads
from unbroken.config.section import Fault
from unbroken.config.sections import Sections


@reads("region", *GROUPS)
def _offered(cluster: Sections) -> Iterator[Fault]:
    for path, group in cluster.placed():
        if instance_types.offered(group.instance_type, cluster.region) is False:
            rule = f"is not a type that HyperPod lists in {cluster.region}"
            hint = _elsewhere(group.instance_type)
            yield Fault((*path, "instance_type"), group.instance_type, rule, hint)


def _elsewhere(name: str) -> str:
    found = sorted(region for region, types in instance_types.regions().items() if name in types)
    return f"it is listed in {', '.join(found[:6])}{' and more' if len(found) > 6 else ''}"


@reads("node_provisioning", "worker_groups")
def _minimum(cluster: Sections) -> Iterator[Fault]:
    for index, group in enumerate(cluster.worker_groups):
        if group.min_instances is not None and cluster.node_provisioning != "Continuous":
            rule = "is for continuous provisioning only; without it a group has all its nodes or none"
            where = ("worker_groups", index, "min_instances")
            yield Fault(
                where, group.min_instances, rule, "add node_provisioning: Continuous, or leave it out"
            )


@reads("storage", "worker_groups")
def _efa(cluster: Sections) -> Iterator[Fault]:
    """A file system is reached over EFA by nodes that have it."""
    types = {group.instance_type for group in cluster.worker_groups}
    interfaces = [instance_types.get(name).efa_interfaces for name in types]
    if cluster.storage.efa and all(count == 0 for count in interfaces):
        rule = "has no effect: no worker type here has EFA"
        yield Fault(("storage", "efa"), True, rule, "leave it out")


RULES: tuple[Rule, ...] = (_offered, _minimum, _efa)
