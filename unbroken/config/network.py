"""The cluster file's ``network`` section: a VPC with two subnets in one zone, or one there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, Field

from unbroken.config.fields import Cidr, SecurityGroupId
from unbroken.config.section import Fault, Path, Section, ineffective, refusal
from unbroken.config.zones import ZoneId


def _vpc_id(value: str) -> str:
    if not re.fullmatch(r"vpc-[0-9a-f]{8,17}", value):
        raise refusal("is not the id of a VPC", "write it as vpc-0123456789abcdef0")
    return value


def is_subnet_id(value: str) -> bool:
    """Whether this is an id, not a name in ``network.subnets``."""
    return re.fullmatch(r"subnet-[0-9a-f]{8,17}", value) is not None


def _subnet_id(value: str) -> str:
    if not is_subnet_id(value):
        raise refusal("is not the id of a subnet", "write it as subnet-0123456789abcdef0")
    return value


def _plain(name: str) -> str:
    """As the name is in outputs of the stack."""
    return name.replace("-", "").lower()


class SubnetConfig(Section):
    """A further private subnet, for groups whose capacity is in another zone."""

    name: Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9-]{0,31}$")]
    """By which groups refer to it."""
    availability_zone_id: ZoneId
    """Its zone, by id."""
    cidr: Cidr
    """Its addresses."""


class ExistingNetwork(Section):
    """A VPC that is there already; `unbroken preflight` looks at its parts."""

    vpc_id: Annotated[str, AfterValidator(_vpc_id)]
    """The VPC."""
    private_subnet_id: Annotated[str, AfterValidator(_subnet_id)]
    """Subnet of the nodes and the file system, with a route to S3; in ``network.availability_zone_id``."""
    security_group_ids: Annotated[list[SecurityGroupId], Field(max_length=5)] = Field(default_factory=list)
    """Security groups of the nodes and the file system; one is made in the VPC if none is given."""


class NetworkConfig(Section):
    """Where the cluster runs."""

    availability_zone_id: ZoneId = "usw2-az4"
    """The zone that has the capacity, by id; nodes and file system share it."""
    vpc_cidr: Cidr = "10.0.0.0/16"
    """Addresses of the VPC. Beside ``existing`` for a ``home`` only, which exports to them."""
    public_subnet_cidr: Cidr = "10.0.0.0/24"
    """Addresses of the subnet that holds the NAT gateway only."""
    private_subnet_cidr: Cidr = "10.0.128.0/17"
    """Addresses of the nodes and the file system."""
    subnets: Annotated[list[SubnetConfig], Field(max_length=15)] = Field(default_factory=list)
    """Further private subnets; the file systems stay in the first."""
    no_internet: bool = False
    """No way out: no internet and NAT gateways, and VPC endpoints for what nodes need of AWS. What the job
    needs from elsewhere (``training.python`` and its packages) is on the file system or in the image."""
    flow_logs: bool = True
    """Whether the VPC's flow logs are kept (for ``logs.retention_days``)."""
    existing: ExistingNetwork | None = None
    """Use this VPC instead of making one."""

    def faults(self) -> Iterator[Fault]:
        """Subnets lie inside the VPC and apart from each other; with a VPC of one's own, there are none."""
        if self.existing is not None:
            yield from ineffective(self, {"existing", "availability_zone_id", "vpc_cidr"}, "network.existing")
            return
        if self.no_internet and "public_subnet_cidr" in self.model_fields_set:
            rule = "has no effect with no_internet: there is no public subnet"
            yield Fault(("public_subnet_cidr",), self.public_subnet_cidr, rule, "remove it")
        yield from self._places()
        yield from self._names()

    def _places(self) -> Iterator[Fault]:
        vpc, ranges = IPv4Network(self.vpc_cidr), list(self._ranges())
        for index, (path, subnet) in enumerate(ranges):
            if not subnet.subnet_of(vpc):
                yield Fault(path, str(subnet), f"is not inside the VPC's {vpc}", f"use a range in {vpc}")
            for _, earlier in ranges[:index]:
                if subnet.overlaps(earlier):
                    hint = "use ranges that share no address, such as 10.0.0.0/24 and 10.0.128.0/17"
                    yield Fault(path, str(subnet), f"overlaps another subnet, {earlier}", hint)

    def _ranges(self) -> Iterator[tuple[Path, IPv4Network]]:
        if not self.no_internet:
            yield ("public_subnet_cidr",), IPv4Network(self.public_subnet_cidr)
        yield ("private_subnet_cidr",), IPv4Network(self.private_subnet_cidr)
        for index, subnet in enumerate(self.subnets):
            yield ("subnets", index, "cidr"), IPv4Network(subnet.cidr)

    def _names(self) -> Iterator[Fault]:
        names = [subnet.name for subnet in self.subnets]
        for index, name in enumerate(names):
            if _plain(name) in map(_plain, names[:index]):
                rule = "names two subnets (hyphens and case make no difference)"
                yield Fault(("subnets", index, "name"), name, rule, "give each its own name")
            if is_subnet_id(name):
                rule = "reads like the id of a subnet that is there already"
                yield Fault(("subnets", index, "name"), name, rule, "use a name such as spare-zone")
