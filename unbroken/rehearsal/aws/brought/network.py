"""A VPC brought along: its subnets with a way out, and security groups in which nodes reach each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from typing import Any

import ministack.services.ec2 as ec2

from unbroken.config import ClusterConfig
from unbroken.rehearsal.aws.embedded import EmbeddedAws

WAY_OUT = "0.0.0.0/0"


def bring(config: ClusterConfig, aws: EmbeddedAws) -> Iterator[str]:
    """The VPC with all it needs, once."""
    existing = config.network.existing
    if existing is None or existing.vpc_id in _there(aws, "vpcs", "VpcId"):
        return
    api, vpc_id = aws.clients.ec2, existing.vpc_id
    with _named("_new_vpc_id", vpc_id):
        api.create_vpc(CidrBlock=config.network.vpc_cidr)
    yield f"VPC {vpc_id}"
    for attribute in ("EnableDnsSupport", "EnableDnsHostnames"):
        api.modify_vpc_attribute(VpcId=vpc_id, **{attribute: {"Value": True}})
    for subnet_id, cidr in _subnets(config):
        with _named("_new_subnet_id", subnet_id):
            api.create_subnet(
                VpcId=vpc_id, CidrBlock=cidr, AvailabilityZoneId=config.network.availability_zone_id
            )
        yield f"subnet {subnet_id}"
    for group_id in _groups(config):
        _security_group(api, vpc_id, group_id)
        yield f"security group {group_id}"
    _lead_out(api, config, vpc_id)


def _there(aws: EmbeddedAws, kind: str, identity: str) -> set[str]:
    member = kind[0].upper() + kind[1:]
    return {one[identity] for one in getattr(aws.clients.ec2, f"describe_{kind}")()[member]}


@contextmanager
def _named(maker: str, identity: str) -> Iterator[None]:
    """Have ministack give the next thing this id. Nobody else asks for one while the server starts."""
    original = getattr(ec2, maker)
    setattr(ec2, maker, lambda: identity)
    try:
        yield
    finally:
        setattr(ec2, maker, original)


def _subnets(config: ClusterConfig) -> Iterator[tuple[str, str]]:
    """The private subnet and those that groups name by id, each with a quarter of its own of the VPC.

    All are in the cluster's zone: the file does not say where a group's own subnet is.
    """
    existing = config.network.existing
    ids = [existing.private_subnet_id] if existing else []
    named = (group.subnet or "" for group in config.groups())
    ids += [subnet_id for subnet_id in named if subnet_id.startswith("subnet-")]
    whole = IPv4Network(config.network.vpc_cidr)
    ranges = whole.subnets(prefixlen_diff=max(2, len(set(ids)).bit_length() + 1))
    next(ranges)  # the first is for the NAT gateway
    return zip(dict.fromkeys(ids), map(str, ranges), strict=False)


def _groups(config: ClusterConfig) -> list[str]:
    existing = config.network.existing
    ids = list(existing.security_group_ids) if existing else []
    ids += [group_id for group in config.groups() for group_id in group.security_group_ids]
    return list(dict.fromkeys(ids))


def _security_group(api: Any, vpc_id: str, group_id: str) -> None:
    """All traffic among its members, as EFA needs, and everything outwards."""
    with _named("_new_sg_id", group_id):
        api.create_security_group(GroupName=group_id, Description="stand-in", VpcId=vpc_id)
    own = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group_id}]}]
    api.authorize_security_group_ingress(GroupId=group_id, IpPermissions=own)
    api.authorize_security_group_egress(GroupId=group_id, IpPermissions=own)


def _lead_out(api: Any, config: ClusterConfig, vpc_id: str) -> None:
    """A NAT gateway for the main route table, which the subnets use; endpoints alone with no_internet."""
    tables = api.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])["RouteTables"]
    table_id = tables[0]["RouteTableId"]
    region = api.meta.region_name
    api.create_vpc_endpoint(VpcId=vpc_id, ServiceName=f"com.amazonaws.{region}.s3", RouteTableIds=[table_id])
    if config.network.no_internet:
        return
    gateway = api.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    api.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc_id)
    first = next(IPv4Network(config.network.vpc_cidr).subnets(new_prefix=28))
    public = api.create_subnet(VpcId=vpc_id, CidrBlock=str(first))["Subnet"]["SubnetId"]
    address = api.allocate_address(Domain="vpc")["AllocationId"]
    nat = api.create_nat_gateway(SubnetId=public, AllocationId=address)["NatGateway"]["NatGatewayId"]
    api.create_route(RouteTableId=table_id, DestinationCidrBlock=WAY_OUT, NatGatewayId=nat)
