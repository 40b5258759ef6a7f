"""Whether each subnet has the addresses that its nodes need, with room to replace a node."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from unbroken.catalog import instance_types
from unbroken.config.groups import InstanceGroup
from unbroken.config.rules.needs import GROUPS, Rule, reads
from unbroken.config.section import Fault, Path
from unbroken.config.sections import Sections

AWS_RESERVED = 5
"""In every subnet (Amazon VPC user guide, "Subnet sizing")."""
FOR_OTHERS = 16
"""For interfaces of file systems and VPC endpoints in the private subnet; an allowance, not a count."""


@reads("network", *GROUPS)
def _enough(cluster: Sections) -> Iterator[Fault]:
    if cluster.network.existing is not None:  # how large its subnets are is preflight's to ask
        return
    private = ("network", "private_subnet_cidr")
    yield from _subnet(private, cluster.network.private_subnet_cidr, _in(cluster, None), FOR_OTHERS)
    for index, subnet in enumerate(cluster.network.subnets):
        groups = _in(cluster, subnet.name)
        if groups:
            yield from _subnet(("network", "subnets", index, "cidr"), subnet.cidr, groups, 0)


def _in(cluster: Sections, subnet: str | None) -> list[InstanceGroup]:
    return [group for group in cluster.groups() if group.subnet == subnet]


def _subnet(path: Path, cidr: str, groups: list[InstanceGroup], others: int) -> Iterator[Fault]:
    nodes = sum(group.num_instances for group in groups)
    taken = sum(group.num_instances * _each(group) for group in groups)
    spare = max((_each(group) for group in groups), default=0)
    free = IPv4Network(cidr).num_addresses - AWS_RESERVED
    if taken + spare + others <= free:
        return
    parts = [f"{taken} for {nodes} nodes", f"{spare} to replace one"]
    parts += [f"{others} for file systems and endpoints"] if others else []
    rule = (
        f"has {free} addresses, and {taken + spare + others} are needed: {', '.join(parts)}{_guessed(groups)}"
    )
    yield Fault(path, cidr, rule, _larger(taken + spare + others))


def _each(group: InstanceGroup) -> int:
    return instance_types.get(group.instance_type).addresses_slurm or 1


def _guessed(groups: list[InstanceGroup]) -> str:
    """What the count assumes where the catalogue does not know."""
    types = {group.instance_type for group in groups}
    unknown = sorted(name for name in types if instance_types.get(name).addresses_slurm is None)
    return f" (one for each {', '.join(unknown)}, which is a guess)" if unknown else ""


def _larger(needed: int) -> str:
    prefix = 32 - (needed + AWS_RESERVED - 1).bit_length()
    return f"use a /{prefix} or larger" if prefix >= 16 else "spread the groups over network.subnets"


RULES: tuple[Rule, ...] = (_enough,)
