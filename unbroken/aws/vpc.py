"""The parts of a VPC, and what they are read from: EC2's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Subnet:
    """A subnet."""

    subnet_id: str
    vpc_id: str
    zone_id: str
    cidr: str
    free_addresses: int


@dataclass(frozen=True)
class Rule:
    """One permission of a security group, in one direction."""

    protocol: str
    """``-1`` for every protocol, EFA included."""
    from_port: int | None
    to_port: int | None
    groups: tuple[str, ...]
    """Ids of the groups it names."""
    cidrs: tuple[str, ...]
    prefix_lists: tuple[str, ...]

    def covers(self, first: int, last: int) -> bool:
        """Whether TCP from port ``first`` to ``last`` falls under it."""
        if self.protocol == "-1":
            return True
        known = self.protocol in ("tcp", "6") and self.from_port is not None and self.to_port is not None
        return known and (self.from_port or 0) <= first and last <= (self.to_port or 0)


@dataclass(frozen=True)
class SecurityGroup:
    """A security group with its rules."""

    group_id: str
    vpc_id: str
    ingress: tuple[Rule, ...]
    egress: tuple[Rule, ...]


@dataclass(frozen=True)
class Route:
    """A route of a route table."""

    destination: str
    """A CIDR block or a prefix list."""
    target: str
    """Id of what it leads to: igw-, nat-, vpce-, tgw-, eni-, local, ..."""
    active: bool


@dataclass(frozen=True)
class RouteTable:
    """A route table and the subnets that use it by association."""

    table_id: str
    main: bool
    subnets: tuple[str, ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class Endpoint:
    """A VPC endpoint."""

    endpoint_id: str
    service: str
    """Its last part: ``s3``, ``ssmmessages``."""
    kind: str
    """``Gateway`` or ``Interface``."""
    state: str
    route_tables: tuple[str, ...]
    subnets: tuple[str, ...]
    private_dns: bool


@dataclass(frozen=True)
class Interface:
    """A network interface."""

    interface_id: str
    description: str
    kind: str
    """``interface``, ``nat_gateway``, ``vpc_endpoint``, ..."""
    groups: tuple[str, ...]


def interface(found: Mapping[str, Any]) -> Interface:
    """From EC2's answer."""
    return Interface(
        interface_id=found["NetworkInterfaceId"],
        description=found.get("Description", ""),
        kind=found.get("InterfaceType", ""),
        groups=tuple(group["GroupId"] for group in found.get("Groups", ())),
    )


def subnet(found: Mapping[str, Any]) -> Subnet:
    """From EC2's answer."""
    return Subnet(
        subnet_id=found["SubnetId"],
        vpc_id=found["VpcId"],
        zone_id=found.get("AvailabilityZoneId", ""),
        cidr=found["CidrBlock"],
        free_addresses=found["AvailableIpAddressCount"],
    )


def security_group(found: Mapping[str, Any]) -> SecurityGroup:
    """From EC2's answer."""
    return SecurityGroup(
        group_id=found["GroupId"],
        vpc_id=found.get("VpcId", ""),
        ingress=tuple(map(_rule, found.get("IpPermissions", ()))),
        egress=tuple(map(_rule, found.get("IpPermissionsEgress", ()))),
    )


def _rule(found: Mapping[str, Any]) -> Rule:
    return Rule(
        protocol=found["IpProtocol"],
        from_port=found.get("FromPort"),
        to_port=found.get("ToPort"),
        groups=tuple(pair["GroupId"] for pair in found.get("UserIdGroupPairs", ()) if "GroupId" in pair),
        cidrs=tuple(one["CidrIp"] for one in found.get("IpRanges", ())),
        prefix_lists=tuple(one["PrefixListId"] for one in found.get("PrefixListIds", ())),
    )


def route_table(found: Mapping[str, Any]) -> RouteTable:
    """From EC2's answer."""
    associations = found.get("Associations", ())
    return RouteTable(
        table_id=found["RouteTableId"],
        main=any(one.get("Main", False) for one in associations),
        subnets=tuple(one["SubnetId"] for one in associations if "SubnetId" in one),
        routes=tuple(map(_route, found.get("Routes", ()))),
    )


_DESTINATIONS = ("DestinationCidrBlock", "DestinationPrefixListId", "DestinationIpv6CidrBlock")
_TARGETS = (
    "GatewayId",
    "NatGatewayId",
    "TransitGatewayId",
    "NetworkInterfaceId",
    "VpcPeeringConnectionId",
    "EgressOnlyInternetGatewayId",
    "LocalGatewayId",
    "CoreNetworkArn",
    "InstanceId",
)


def _route(found: Mapping[str, Any]) -> Route:
    return Route(
        destination=next((found[key] for key in _DESTINATIONS if key in found), ""),
        target=next((found[key] for key in _TARGETS if found.get(key)), ""),
        active=found.get("State", "active") == "active",
    )


def endpoint(found: Mapping[str, Any]) -> Endpoint:
    """From EC2's answer."""
    return Endpoint(
        endpoint_id=found["VpcEndpointId"],
        service=found["ServiceName"].rpartition(".")[2],
        kind=found["VpcEndpointType"],
        state=found["State"].lower(),
        route_tables=tuple(found.get("RouteTableIds", ())),
        subnets=tuple(found.get("SubnetIds", ())),
        private_dns=found.get("PrivateDnsEnabled", False),
    )
