"""The cluster file's ``network`` section: one VPC, one public and one private subnet in one zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import AfterValidator

from unbroken.config.fields import Cidr
from unbroken.config.section import Fault, Section, refusal


def _zone_id(value: str) -> str:
    if not re.fullmatch(r"[a-z]{3,6}\d-(az|[a-z0-9]+-az)\d{1,2}", value):
        raise refusal(
            "is not an Availability Zone id",
            "use the id (usw2-az4), not the name (us-west-2d), which differs from account to account",
        )
    return value


# The periods CloudWatch Logs accepts, up to a year.
RetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365]


class NetworkConfig(Section):
    """Where the cluster runs."""

    availability_zone_id: Annotated[str, AfterValidator(_zone_id)] = "usw2-az4"
    """The zone that has the capacity, by id; nodes and file system share it."""
    vpc_cidr: Cidr = "10.0.0.0/16"
    """Addresses of the VPC."""
    public_subnet_cidr: Cidr = "10.0.0.0/24"
    """Addresses of the subnet that holds the NAT gateway only."""
    private_subnet_cidr: Cidr = "10.0.128.0/17"
    """Addresses of the nodes and the file system."""
    flow_log_retention_days: RetentionDays = 30
    """Days that VPC flow logs are kept."""

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
