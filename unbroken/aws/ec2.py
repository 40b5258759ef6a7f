"""Regions, zones, and the parts of a VPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbroken.aws.session import AwsError, Session


@dataclass(frozen=True)
class Zone:
    """An Availability Zone as this account names it."""

    zone_id: str
    name: str
    state: str


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
class Image:
    """A machine image."""

    image_id: str
    state: str
    architecture: str


@dataclass(frozen=True)
class Interface:
    """A network interface."""

    interface_id: str
    description: str
    kind: str
    """``interface``, ``nat_gateway``, ``vpc_endpoint``, ..."""
    groups: tuple[str, ...]


class Ec2:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def region_status(self) -> str | None:
        """``opt-in-not-required``, ``opted-in``, ``not-opted-in``; None for a region AWS does not know."""
        about, names = f"region {self._session.region}", [self._session.region]
        try:
            found = self._session.ask("ec2", "describe_regions", about, RegionNames=names, AllRegions=True)
        except AwsError as error:
            if error.is_("InvalidParameterValue"):
                return None
            raise
        return next((region["OptInStatus"] for region in found["Regions"]), None)

    def zones(self) -> list[Zone]:
        """The region's zones that this account can use."""
        found = self._session.ask("ec2", "describe_availability_zones", "the region's zones")
        return [Zone(one["ZoneId"], one["ZoneName"], one["State"]) for one in found["AvailabilityZones"]]

    def zones_offering(self, instance_type: str) -> list[str]:
        """Ids of the zones in which EC2 offers a type (``p4de.24xlarge``); says nothing of free capacity."""
        found = self._session.ask_all(
            "ec2",
            "describe_instance_type_offerings",
            "InstanceTypeOfferings",
            f"zones with {instance_type}",
            LocationType="availability-zone-id",
            Filters=_filters(**{"instance-type": instance_type}),
        )
        return sorted(one["Location"] for one in found)

    def vpc_dns(self, vpc_id: str) -> bool | None:
        """Whether the VPC resolves names, as FSx and endpoints need; None where there is no such VPC."""
        try:
            found = self._session.ask(
                "ec2", "describe_vpc_attribute", f"VPC {vpc_id}", VpcId=vpc_id, Attribute="enableDnsSupport"
            )
        except AwsError as error:
            if error.is_("InvalidVpcID.NotFound"):
                return None
            raise
        return bool(found["EnableDnsSupport"]["Value"])

    def subnets(self, ids: Sequence[str]) -> list[Subnet]:
        """Those of the subnets that there are."""
        found = self._filtered("describe_subnets", "Subnets", ids, "subnet-id")
        return [_subnet(one) for one in found]

    def security_groups(self, ids: Sequence[str]) -> list[SecurityGroup]:
        """Those of the security groups that there are."""
        found = self._filtered("describe_security_groups", "SecurityGroups", ids, "group-id")
        return [_security_group(one) for one in found]

    def route_tables(self, vpc_id: str) -> list[RouteTable]:
        """All route tables of a VPC."""
        found = self._filtered("describe_route_tables", "RouteTables", [vpc_id], "vpc-id")
        return [_route_table(one) for one in found]

    def endpoints(self, vpc_id: str) -> list[Endpoint]:
        """All endpoints of a VPC."""
        found = self._filtered("describe_vpc_endpoints", "VpcEndpoints", [vpc_id], "vpc-id")
        return [_endpoint(one) for one in found]

    def addresses(self) -> int:
        """Elastic IP addresses in use in the region."""
        return len(self._session.ask("ec2", "describe_addresses", "Elastic IP addresses")["Addresses"])

    def vpcs(self) -> int:
        """VPCs in the region."""
        return len(self._session.ask_all("ec2", "describe_vpcs", "Vpcs", "VPCs"))

    def internet_gateways(self) -> int:
        """Internet gateways in the region."""
        return len(
            self._session.ask_all(
                "ec2", "describe_internet_gateways", "InternetGateways", "internet gateways"
            )
        )

    def nat_gateways(self, zone_id: str) -> int:
        """NAT gateways in a zone, without those that are gone."""
        subnets = self._session.ask_all(
            "ec2",
            "describe_subnets",
            "Subnets",
            f"subnets of zone {zone_id}",
            Filters=_filters(**{"availability-zone-id": zone_id}),
        )
        here = {one["SubnetId"] for one in subnets}
        gateways = self._session.ask_all("ec2", "describe_nat_gateways", "NatGateways", "NAT gateways")
        gone = ("deleted", "failed")
        return sum(one["SubnetId"] in here and one["State"] not in gone for one in gateways)

    def image(self, image_id: str) -> Image | None:
        """A machine image; None where there is none by that id that this account may see."""
        try:
            found = self._session.ask("ec2", "describe_images", f"image {image_id}", ImageIds=[image_id])
        except AwsError as error:
            if error.code.startswith("InvalidAMIID"):
                return None
            raise
        for one in found["Images"]:
            return Image(one["ImageId"], one["State"], one.get("Architecture", ""))
        return None

    def interfaces(self, groups: Sequence[str]) -> list[Interface]:
        """The network interfaces that are in any of these security groups."""
        found = self._filtered("describe_network_interfaces", "NetworkInterfaces", groups, "group-id")
        return [_interface(one) for one in found]

    def groups_of_interfaces(self, ids: Sequence[str]) -> list[str]:
        """The security groups of these network interfaces."""
        found = self._filtered(
            "describe_network_interfaces", "NetworkInterfaces", ids, "network-interface-id"
        )
        return sorted({group for one in found for group in _interface(one).groups})

    def _filtered(
        self, operation: str, member: str, values: Sequence[str], filter_name: str
    ) -> list[dict[str, Any]]:
        """By filter, not by id: AWS answers with what there is instead of an error for what there is not."""
        about = ", ".join(values)
        filters = [{"Name": filter_name, "Values": list(values)}]
        return self._session.ask_all("ec2", operation, member, about, Filters=filters)


def _interface(found: Mapping[str, Any]) -> Interface:
    return Interface(
        interface_id=found["NetworkInterfaceId"],
        description=found.get("Description", ""),
        kind=found.get("InterfaceType", ""),
        groups=tuple(group["GroupId"] for group in found.get("Groups", ())),
    )


def _filters(**values: str) -> list[dict[str, Any]]:
    return [{"Name": name, "Values": [value]} for name, value in values.items()]


def _subnet(found: Mapping[str, Any]) -> Subnet:
    return Subnet(
        subnet_id=found["SubnetId"],
        vpc_id=found["VpcId"],
        zone_id=found.get("AvailabilityZoneId", ""),
        cidr=found["CidrBlock"],
        free_addresses=found["AvailableIpAddressCount"],
    )


def _security_group(found: Mapping[str, Any]) -> SecurityGroup:
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


def _route_table(found: Mapping[str, Any]) -> RouteTable:
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


def _endpoint(found: Mapping[str, Any]) -> Endpoint:
    return Endpoint(
        endpoint_id=found["VpcEndpointId"],
        service=found["ServiceName"].rpartition(".")[2],
        kind=found["VpcEndpointType"],
        state=found["State"].lower(),
        route_tables=tuple(found.get("RouteTableIds", ())),
        subnets=tuple(found.get("SubnetIds", ())),
        private_dns=found.get("PrivateDnsEnabled", False),
    )
