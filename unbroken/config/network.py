"""The cluster file's ``network`` section: a VPC with two subnets in one zone, or one there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, Field

from unbroken.config.fields import Cidr, SecurityGroupId
from unbroken.config.section import Fault, Section, refusal
from unbroken.config.zones import ZoneId


def _vpc_id(value: str) -> str:
    if not re.fullmatch(r"vpc-[0-9a-f]{8,17}", value):
        raise refusal("is not the id of a VPC", "write it as vpc-0123456789abcdef0")
    return value


def _subnet_id(value: str) -> str:
    if not re.fullmatch(r"subnet-[0-9a-f]{8,17}", value):
        raise refusal("is not the id of a subnet", "write it as subnet-0123456789abcdef0")
    return value


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
    """Addresses of the VPC."""
    public_subnet_cidr: Cidr = "10.0.0.0/24"
    """Addresses of the subnet that holds the NAT gateway only."""
    private_subnet_cidr: Cidr = "10.0.128.0/17"
    """Addresses of the nodes and the file system."""
    subnets: Annotated[list[SubnetConfig], Field(max_length=15)] = Field(default_factory=list)
    """Further private subnets."""
    no_internet: bool = False
    """No way out: no internet and NAT gateways, and interface endpoints for what nodes need of AWS."""
    flow_logs: bool = True
    """Whether the VPC's flow logs are kept (for ``logs.retention_days``)."""
    existing: ExistingNetwork | None = None
    """Use this VPC instead of making one."""

    def faults(self) -> Iterator[Fault]:
        """Both subnets lie inside the VPC and apart from each other."""
        vpc, public, private = (
            IPv4Network(text) for text in (self.vpc_cidr, self.public_subnet_cidr, self.private_subnet_cidr)
        )
        for name, subnet in (("public_subnet_cidr", public), ("private_subnet_cidr", private)):
            if not subnet.subnet_of(vpc):
                yield Fault((name,), str(subnet), f"is not inside the VPC's {vpc}", f"use a range in {vpc}")
        if public.overlaps(private):
            yield Fault(
                ("private_subnet_cidr",),
                str(private),
                f"overlaps the public subnet's {public}",
                "use two ranges that share no address, such as 10.0.0.0/24 and 10.0.128.0/17",
            )
