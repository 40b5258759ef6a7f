"""EC2's own API where ministack is more lenient than AWS: zones, NAT gateways, deletions.

These replace entries of ministack's EC2 action table and run on its event loop, directly on its records.
Interfaces, endpoints, address ranges and filters have modules of their own; the CloudFormation side is in
``resources.py``, ``network.py`` and ``amended.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ministack.services.ec2 as ec2

from unbroken.rehearsal.aws.ec2 import endpoints, filters, interfaces, ranges
from unbroken.rehearsal.aws.ec2.wording import Params, Response, dependency, error

Action = Callable[[Params], Response]

ZONES = {"us-east-1": "abcdef"}
MOST_ZONES = "abcd"
"""Letters of a region's zones, where ministack stops at three; not every region has all of these on AWS."""


def install() -> None:
    """Put these actions into ministack's table."""
    for name, replacement in _REPLACEMENTS.items():
        ec2._ACTION_MAP[name] = _wrapped(ec2._ACTION_MAP[name], replacement)
    ec2._ACTION_MAP.update(endpoints.ACTIONS | ranges.ACTIONS, CreateNetworkInterface=interfaces.create)
    ec2._ACTION_MAP["DescribeAvailabilityZones"] = _availability_zones
    ec2._vpc_fields_xml = ranges.vpc_fields(ec2._vpc_fields_xml)
    filters.install()
    ec2._zone_name_for_az_id = zone_name


def zone_name(wanted: str) -> str | None:
    """The zone with this id, such as us-west-2d for usw2-az4; None for an id of another region.

    Real accounts map ids to letters each in its own way; here az1 is a, az2 is b, and so on.
    """
    return next((name for name in zone_names() if zone_id(name) == wanted), None)


def zone_names() -> list[str]:
    """The names of the region's zones."""
    region = ec2.get_region()
    return [f"{region}{letter}" for letter in ZONES.get(region, MOST_ZONES)]


def zone_id(name: str) -> str:
    """The id of a zone, such as usw2-az4 for us-west-2d."""
    return str(ec2._az_id_for_zone_name(name))


def _availability_zones(_params: Params) -> Response:
    region = ec2.get_region()
    items = "".join(
        f"<item><optInStatus>opt-in-not-required</optInStatus><regionName>{region}</regionName>"
        f"<zoneName>{name}</zoneName><zoneId>{zone_id(name)}</zoneId><groupName>{region}-zg-1</groupName>"
        f"<networkBorderGroup>{region}</networkBorderGroup><zoneType>availability-zone</zoneType>"
        "<zoneState>available</zoneState></item>"
        for name in zone_names()
    )
    body = f"<availabilityZoneInfo>{items}</availabilityZoneInfo>"
    response: Response = ec2._xml(200, "DescribeAvailabilityZonesResponse", body)
    return response


def _wrapped(original: Action, replacement: Callable[[Action, Params], Response]) -> Action:
    return lambda params: replacement(original, params)


def _delete_subnet(original: Action, params: Params) -> Response:
    subnet_id = ec2._p(params, "SubnetId")
    if any(interface["SubnetId"] == subnet_id for interface in ec2._network_interfaces.values()):
        return dependency("subnet", subnet_id)
    return original(params)


def _delete_security_group(original: Action, params: Params) -> Response:
    group_id = ec2._p(params, "GroupId")
    if group_id in _groups_of_interfaces() or group_id in _groups_in_rules(of_others_than=group_id):
        text = f"resource {group_id} has a dependent object"
        return error("DependencyViolation", text)
    return original(params)


def _groups_of_interfaces() -> set[str]:
    return {
        group["GroupId"] for interface in ec2._network_interfaces.values() for group in interface["Groups"]
    }


def _groups_in_rules(of_others_than: str) -> set[str]:
    """Groups that the rules of other groups refer to."""
    return {
        pair.get("GroupId", "")
        for group_id, group in ec2._security_groups.items()
        if group_id != of_others_than
        for rule in (*group["IpPermissions"], *group["IpPermissionsEgress"])
        for pair in rule.get("UserIdGroupPairs", ())
    }


def _delete_vpc(original: Action, params: Params) -> Response:
    vpc_id = ec2._p(params, "VpcId")
    if any(True for _ in _dependents_of_vpc(vpc_id)):
        return dependency("vpc", vpc_id)
    return original(params)


def _dependents_of_vpc(vpc_id: str) -> Iterator[str]:
    """What AWS wants gone first, beyond the subnets, groups and gateways ministack looks at itself."""
    main = ec2._vpcs.get(vpc_id, {}).get("MainRouteTableId")
    yield from (e["VpcEndpointId"] for e in ec2._vpc_endpoints.values() if e["VpcId"] == vpc_id)
    yield from (i["NetworkInterfaceId"] for i in ec2._network_interfaces.values() if i["VpcId"] == vpc_id)
    yield from (
        table_id
        for table_id, table in ec2._route_tables.items()
        if table["VpcId"] == vpc_id and table_id != main
    )


def _delete_internet_gateway(original: Action, params: Params) -> Response:
    gateway_id = ec2._p(params, "InternetGatewayId")
    if ec2._internet_gateways.get(gateway_id, {}).get("Attachments"):
        return dependency("internetGateway", gateway_id)
    return original(params)


def _detach_internet_gateway(original: Action, params: Params) -> Response:
    vpc_id = ec2._p(params, "VpcId")
    if any(nat["VpcId"] == vpc_id for nat in _nat_gateways()):
        text = (
            f"Network {vpc_id} has some mapped public address(es). Please unmap those public address(es) "
            "before detaching the gateway."
        )
        return error("DependencyViolation", text)
    return original(params)


def _nat_gateways() -> list[dict[str, Any]]:
    return [nat for nat in ec2._nat_gateways.values() if nat["State"] == "available"]


def _release_address(original: Action, params: Params) -> Response:
    allocation_id = ec2._p(params, "AllocationId")
    if any(nat["AllocationId"] == allocation_id for nat in _nat_gateways()):
        text = f"You do not have permission to access the specified resource: {allocation_id} is in use."
        return error("AuthFailure", text)
    return original(params)


def _create_nat_gateway(original: Action, params: Params) -> Response:
    subnet = ec2._subnets.get(ec2._p(params, "SubnetId"))
    if subnet is None:
        return error(
            "InvalidSubnetID.NotFound", f"The subnet ID '{ec2._p(params, 'SubnetId')}' does not exist"
        )
    if ec2._p(params, "ConnectivityType") != "private" and not _has_internet_gateway(subnet["VpcId"]):
        text = f"Network {subnet['VpcId']} has no Internet gateway attached"
        return error("Gateway.NotAttached", text)
    response = original(params)
    nat_id = list(ec2._nat_gateways.keys())[-1]
    description = f"Interface for NAT Gateway {nat_id}"
    interfaces.add(subnet, description=description, groups=[], kind="nat_gateway")
    return response


def _has_internet_gateway(vpc_id: str) -> bool:
    attachments = (a for gateway in ec2._internet_gateways.values() for a in gateway["Attachments"])
    return any(attachment["VpcId"] == vpc_id for attachment in attachments)


def _delete_nat_gateway(original: Action, params: Params) -> Response:
    interfaces.remove(f"Interface for NAT Gateway {ec2._p(params, 'NatGatewayId')}")
    return original(params)


_REPLACEMENTS: dict[str, Callable[[Action, Params], Response]] = {
    "CreateNatGateway": _create_nat_gateway,
    "DeleteInternetGateway": _delete_internet_gateway,
    "DeleteNatGateway": _delete_nat_gateway,
    "DeleteSecurityGroup": _delete_security_group,
    "DeleteSubnet": _delete_subnet,
    "DeleteVpc": _delete_vpc,
    "DetachInternetGateway": _detach_internet_gateway,
    "ReleaseAddress": _release_address,
}
