"""Regions, zones, images, and the parts of a VPC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unbroken.aws import vpc
from unbroken.aws.session import AwsError, Session
from unbroken.aws.vpc import Endpoint, Interface, RouteTable, SecurityGroup, Subnet


@dataclass(frozen=True)
class Zone:
    """An Availability Zone as this account names it."""

    zone_id: str
    name: str
    state: str


@dataclass(frozen=True)
class Image:
    """A machine image."""

    image_id: str
    state: str
    architecture: str


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
        return [vpc.subnet(one) for one in found]

    def security_groups(self, ids: Sequence[str]) -> list[SecurityGroup]:
        """Those of the security groups that there are."""
        found = self._filtered("describe_security_groups", "SecurityGroups", ids, "group-id")
        return [vpc.security_group(one) for one in found]

    def route_tables(self, vpc_id: str) -> list[RouteTable]:
        """All route tables of a VPC."""
        found = self._filtered("describe_route_tables", "RouteTables", [vpc_id], "vpc-id")
        return [vpc.route_table(one) for one in found]

    def endpoints(self, vpc_id: str) -> list[Endpoint]:
        """All endpoints of a VPC."""
        found = self._filtered("describe_vpc_endpoints", "VpcEndpoints", [vpc_id], "vpc-id")
        return [vpc.endpoint(one) for one in found]

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
        return [vpc.interface(one) for one in found]

    def groups_of_interfaces(self, ids: Sequence[str]) -> list[str]:
        """The security groups of these network interfaces."""
        found = self._filtered(
            "describe_network_interfaces", "NetworkInterfaces", ids, "network-interface-id"
        )
        return sorted({group for one in found for group in vpc.interface(one).groups})

    def _filtered(
        self, operation: str, member: str, values: Sequence[str], filter_name: str
    ) -> list[dict[str, Any]]:
        """By filter, not by id: AWS answers with what there is instead of an error for what there is not."""
        about = ", ".join(values)
        filters = [{"Name": filter_name, "Values": list(values)}]
        return self._session.ask_all("ec2", operation, member, about, Filters=filters)


def _filters(**values: str) -> list[dict[str, Any]]:
    return [{"Name": name, "Values": [value]} for name, value in values.items()]
