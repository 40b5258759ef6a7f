"""Workers, file system and reserved capacity are in one zone, and subnets are in the cluster's VPC."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.catalog import regions
from unbroken.config.groups import InstanceGroup
from unbroken.config.network import is_subnet_id
from unbroken.config.rules.needs import GROUPS, Rule, reads
from unbroken.config.section import Fault, Path
from unbroken.config.sections import Sections
from unbroken.config.suggest import suggestion


def zone_of(cluster: Sections, group: InstanceGroup) -> str | None:
    """The zone of the group's subnet; None where only AWS knows it."""
    if group.subnet is None:
        return cluster.network.availability_zone_id
    named = {subnet.name: subnet.availability_zone_id for subnet in cluster.network.subnets}
    return named.get(group.subnet)


@reads("region", "network")
def _in_region(cluster: Sections) -> Iterator[Fault]:
    prefix = regions.zone_id_prefix(cluster.region)
    places: list[tuple[Path, str]] = [(("network",), cluster.network.availability_zone_id)]
    for index, subnet in enumerate(cluster.network.subnets):
        places.append((("network", "subnets", index), subnet.availability_zone_id))
    for path, zone in places:
        if not zone.startswith(f"{prefix}-"):
            hint = f"use the id of one of its zones, such as {prefix}-az1, or change region"
            yield Fault((*path, "availability_zone_id"), zone, f"is not a zone of {cluster.region}", hint)


@reads("network", *GROUPS)
def _subnets(cluster: Sections) -> Iterator[Fault]:
    names = [subnet.name for subnet in cluster.network.subnets]
    for path, group in cluster.placed():
        if group.subnet is None or group.subnet in names:
            continue
        if not is_subnet_id(group.subnet):
            hint = (
                suggestion(group.subnet, names) or f"use one of {', '.join(names) or 'those you add there'}"
            )
            yield Fault((*path, "subnet"), group.subnet, "is not a name in network.subnets", hint)
        elif cluster.network.existing is None:
            rule = "is not in the VPC that this file makes"
            yield Fault((*path, "subnet"), group.subnet, rule, "add a subnet to network.subnets and name it")


@reads("network", *GROUPS)
def _security_groups(cluster: Sections) -> Iterator[Fault]:
    """A security group that is there already is in a VPC that is there already."""
    if cluster.network.existing is not None:
        return
    for path, group in cluster.placed():
        for index, group_id in enumerate(group.security_group_ids):
            where = (*path, "security_group_ids", index)
            hint = "remove it, or bring the VPC with network.existing"
            yield Fault(where, group_id, "is not in the VPC that this file makes", hint)


@reads("network", "worker_groups")
def _training_plans(cluster: Sections) -> Iterator[Fault]:
    for index, group in enumerate(cluster.worker_groups):
        zone = zone_of(cluster, group)
        if group.training_plan is None or zone in (None, group.training_plan.availability_zone_id):
            continue
        where = ("worker_groups", index, "training_plan", "availability_zone_id")
        plan = group.training_plan.availability_zone_id
        hint = f"use network.availability_zone_id: {plan}, or a subnet of network.subnets in {plan}"
        yield Fault(where, plan, f"is the plan's zone, but the group's subnet is in {zone}", hint)


@reads("network", "worker_groups")
def _job_beside_its_data(cluster: Sections) -> Iterator[Fault]:
    """The job runs on the first group; a file system in another zone is slow, and its traffic is paid for."""
    first, home = cluster.worker_groups[0], cluster.network.availability_zone_id
    zone = zone_of(cluster, first)
    if zone not in (None, home):
        rule = f"is in {zone}, but the file system, which the job of the first group reads, is in {home}"
        hint = f"set network.availability_zone_id: {zone}, or put another group first"
        yield Fault(("worker_groups", 0, "subnet"), first.subnet, rule, hint)


RULES: tuple[Rule, ...] = (_in_region, _subnets, _security_groups, _training_plans, _job_beside_its_data)
