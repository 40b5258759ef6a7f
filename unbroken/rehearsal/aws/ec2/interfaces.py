"""Network interfaces: addresses of their subnets, and who holds them."""

from __future__ import annotations

import ipaddress
from typing import Any

import ministack.services.ec2 as ec2

from unbroken.rehearsal.aws.ec2.wording import Params, Response, error

NUM_RESERVED_ADDRESSES = 4
"""The first addresses of a subnet that AWS keeps (VPC user guide, "Subnet sizing"); the last too."""
OWN = "interface"
"""The type of interfaces that a customer makes; all others belong to a service and are in use."""


def create(params: Params) -> Response:
    """CreateNetworkInterface."""
    subnet = ec2._subnets.get(ec2._p(params, "SubnetId"))
    if subnet is None:
        text = f"The subnet ID '{ec2._p(params, 'SubnetId')}' does not exist"
        return error("InvalidSubnetID.NotFound", text)
    groups = ec2._parse_member_list(params, "SecurityGroupId")
    unknown = [group for group in groups if group not in ec2._security_groups]
    if unknown:
        return error("InvalidGroup.NotFound", f"The security group '{unknown[0]}' does not exist")
    description, address = ec2._p(params, "Description"), ec2._p(params, "PrivateIpAddress")
    try:
        record = add(subnet, description=description, groups=groups, address=address)
    except ValueError as refused:
        return error("InvalidParameterValue", str(refused))
    body = ec2._eni_fields_xml(record, tag="networkInterface")
    response: Response = ec2._xml(200, "CreateNetworkInterfaceResponse", body)
    return response


def add(
    subnet: dict[str, Any], *, description: str, groups: list[str], address: str = "", kind: str = OWN
) -> dict[str, Any]:
    """A network interface with an address of the subnet; ValueError where the address cannot be had."""
    address = _usable(subnet, address) if address else _first_free(subnet)
    ec2._create_network_interface({"SubnetId": [subnet["SubnetId"]], "Description": [description]})
    record: dict[str, Any] = list(ec2._network_interfaces.values())[-1]
    names = {group: ec2._security_groups[group]["GroupName"] for group in groups}
    record.update(
        PrivateIpAddress=address,
        InterfaceType=kind,
        Status="available" if kind == OWN else "in-use",
        Groups=[{"GroupId": group, "GroupName": name} for group, name in names.items()],
    )
    return record


def remove(description: str) -> None:
    """End the interfaces that a service has under this description."""
    for interface_id, interface in list(ec2._network_interfaces.items()):
        if interface["Description"] == description:
            del ec2._network_interfaces[interface_id]


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
