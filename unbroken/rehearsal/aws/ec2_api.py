"""EC2's own API where ministack is more lenient than AWS: interfaces, NAT gateways, zones, deletions.

These replace entries of ministack's EC2 action table and run on its event loop, directly on its records.
The CloudFormation side is in ``ec2.py``. Error codes and texts are EC2's, by the API reference's list of
error codes.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from typing import Any

import ministack.services.ec2 as ec2

Params = dict[str, Any]
Response = tuple[int, dict[str, str], bytes]
Action = Callable[[Params], Response]

NUM_RESERVED_ADDRESSES = 4
"""The first addresses of a subnet that AWS keeps (VPC user guide, "Subnet sizing"); the last too."""

ZONES = "abcdef"
"""Letters of the zones a region may have; ministack stops at three, and us-west-2 has four."""


def install() -> None:
    """Put these actions into ministack's table."""
    for name, replacement in _REPLACEMENTS.items():
        ec2._ACTION_MAP[name] = _wrapped(ec2._ACTION_MAP[name], replacement)
    ec2._zone_name_for_az_id = zone_name


def zone_name(wanted: str) -> str | None:
    """The zone with this id, such as us-west-2d for usw2-az4; None for an id of another region.

    Real accounts map ids to letters each in its own way; here az1 is a, az2 is b, and so on.
    """
    region = ec2.get_region()
    names = [f"{region}{letter}" for letter in ZONES]
    return next((name for name in names if zone_id(name) == wanted), None)


def zone_id(name: str) -> str:
    """The id of a zone, such as usw2-az4 for us-west-2d."""
    return str(ec2._az_id_for_zone_name(name))


def _wrapped(original: Action, replacement: Callable[[Action, Params], Response]) -> Action:
    return lambda params: replacement(original, params)


def _dependency(what: str, identifier: str) -> Response:
    text = f"The {what} '{identifier}' has dependencies and cannot be deleted."
    return _error("DependencyViolation", text)


def _error(code: str, message: str) -> Response:
    response: Response = ec2._error(code, message, 400)
    return response


def _delete_subnet(original: Action, params: Params) -> Response:
    subnet_id = ec2._p(params, "SubnetId")
    if any(interface["SubnetId"] == subnet_id for interface in ec2._network_interfaces.values()):
        return _dependency("subnet", subnet_id)
    return original(params)


def _delete_security_group(original: Action, params: Params) -> Response:
    group_id = ec2._p(params, "GroupId")
    if group_id in _groups_of_interfaces() or group_id in _groups_in_rules(of_others_than=group_id):
        text = f"resource {group_id} has a dependent object"
        return _error("DependencyViolation", text)
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
        return _dependency("vpc", vpc_id)
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
        return _dependency("internetGateway", gateway_id)
    return original(params)


def _detach_internet_gateway(original: Action, params: Params) -> Response:
    vpc_id = ec2._p(params, "VpcId")
    if any(nat["VpcId"] == vpc_id for nat in _nat_gateways()):
        text = (
            f"Network {vpc_id} has some mapped public address(es). Please unmap those public address(es) "
            "before detaching the gateway."
        )
        return _error("DependencyViolation", text)
    return original(params)


def _nat_gateways() -> list[dict[str, Any]]:
    return [nat for nat in ec2._nat_gateways.values() if nat["State"] == "available"]


def _release_address(original: Action, params: Params) -> Response:
    allocation_id = ec2._p(params, "AllocationId")
    if any(nat["AllocationId"] == allocation_id for nat in _nat_gateways()):
        text = f"You do not have permission to access the specified resource: {allocation_id} is in use."
        return _error("AuthFailure", text)
    return original(params)


def _create_nat_gateway(original: Action, params: Params) -> Response:
    subnet = ec2._subnets.get(ec2._p(params, "SubnetId"))
    if subnet is None:
        return _error(
            "InvalidSubnetID.NotFound", f"The subnet ID '{ec2._p(params, 'SubnetId')}' does not exist"
        )
    if ec2._p(params, "ConnectivityType") != "private" and not _has_internet_gateway(subnet["VpcId"]):
        text = f"Network {subnet['VpcId']} has no Internet gateway attached"
        return _error("Gateway.NotAttached", text)
    response = original(params)
    nat_id = list(ec2._nat_gateways.keys())[-1]
    _add_interface(subnet, description=f"Interface for NAT Gateway {nat_id}", groups=[], kind="nat_gateway")
    return response


def _has_internet_gateway(vpc_id: str) -> bool:
    attachments = (a for gateway in ec2._internet_gateways.values() for a in gateway["Attachments"])
    return any(attachment["VpcId"] == vpc_id for attachment in attachments)


def _delete_nat_gateway(original: Action, params: Params) -> Response:
    description = f"Interface for NAT Gateway {ec2._p(params, 'NatGatewayId')}"
    for interface_id, interface in list(ec2._network_interfaces.items()):
        if interface["Description"] == description:
            del ec2._network_interfaces[interface_id]
    return original(params)


def _create_network_interface(original: Action, params: Params) -> Response:
    subnet = ec2._subnets.get(ec2._p(params, "SubnetId"))
    if subnet is None:
        return _error(
            "InvalidSubnetID.NotFound", f"The subnet ID '{ec2._p(params, 'SubnetId')}' does not exist"
        )
    groups = ec2._parse_member_list(params, "SecurityGroupId")
    unknown = [group for group in groups if group not in ec2._security_groups]
    if unknown:
        return _error("InvalidGroup.NotFound", f"The security group '{unknown[0]}' does not exist")
    try:
        record = _add_interface(
            subnet,
            description=ec2._p(params, "Description"),
            groups=groups,
            address=ec2._p(params, "PrivateIpAddress"),
        )
    except ValueError as error:
        return _error("InvalidParameterValue", str(error))
    body = ec2._eni_fields_xml(record, tag="networkInterface")
    response: Response = ec2._xml(200, "CreateNetworkInterfaceResponse", body)
    return response


def _add_interface(
    subnet: dict[str, Any], *, description: str, groups: list[str], address: str = "", kind: str = "interface"
) -> dict[str, Any]:
    """A network interface with an address of the subnet; ValueError where the address cannot be had."""
    address = _usable(subnet, address) if address else _first_free(subnet)
    ec2._create_network_interface({"SubnetId": [subnet["SubnetId"]], "Description": [description]})
    record: dict[str, Any] = list(ec2._network_interfaces.values())[-1]
    names = {group: ec2._security_groups[group]["GroupName"] for group in groups}
    record.update(
        PrivateIpAddress=address,
        InterfaceType=kind,
        Status="in-use" if kind == "nat_gateway" else "available",
        Groups=[{"GroupId": group, "GroupName": name} for group, name in names.items()],
    )
    return record


def _addresses_in_use(subnet: dict[str, Any]) -> set[str]:
    return {
        interface["PrivateIpAddress"]
        for interface in ec2._network_interfaces.values()
        if interface["SubnetId"] == subnet["SubnetId"]
    }


def _usable(subnet: dict[str, Any], address: str) -> str:
    if ipaddress.ip_address(address) not in ipaddress.ip_network(subnet["CidrBlock"]):
        raise ValueError(f"Address {address} does not fall within the subnet's address range")
    if address in _addresses_in_use(subnet):
        raise ValueError(f"Address {address} is in use.")
    return address


def _first_free(subnet: dict[str, Any]) -> str:
    used = _addresses_in_use(subnet)
    hosts = ipaddress.ip_network(subnet["CidrBlock"]).hosts()
    for index, host in enumerate(hosts, start=1):
        if index >= NUM_RESERVED_ADDRESSES and str(host) not in used:
            return str(host)
    raise ValueError(f"{subnet['SubnetId']} has no free addresses")


_REPLACEMENTS: dict[str, Callable[[Action, Params], Response]] = {
    "CreateNatGateway": _create_nat_gateway,
    "CreateNetworkInterface": _create_network_interface,
    "DeleteInternetGateway": _delete_internet_gateway,
    "DeleteNatGateway": _delete_nat_gateway,
    "DeleteSecurityGroup": _delete_security_group,
    "DeleteSubnet": _delete_subnet,
    "DeleteVpc": _delete_vpc,
    "DetachInternetGateway": _detach_internet_gateway,
    "ReleaseAddress": _release_address,
}
