"""Corrections to CloudFormation types of EC2 that ministack has.

They keep ministack's handlers, but are deleted through EC2's API, so that what EC2 refuses fails the stack.
"""

from __future__ import annotations

from typing import Any

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.ec2 import api, ranges
from unbroken.rehearsal.aws.ec2.resources import gone
from unbroken.rehearsal.aws.handlers import Amendment, Properties, ResourceError


def amendments(clients: Clients) -> list[Amendment]:
    """The types ministack has but treats more leniently than AWS."""
    return [
        Amendment("AWS::EC2::VPC", _vpc_attributes, lambda id_, _: gone(clients.ec2.delete_vpc, VpcId=id_)),
        Amendment(
            "AWS::EC2::Subnet", _subnet_attributes,
            lambda id_, _: gone(clients.ec2.delete_subnet, SubnetId=id_),
            check_new=_check_subnet,
        ),
        Amendment(
            "AWS::EC2::SecurityGroup", None,
            lambda id_, _: gone(clients.ec2.delete_security_group, GroupId=id_),
        ),
        Amendment(
            "AWS::EC2::InternetGateway", None,
            lambda id_, _: gone(clients.ec2.delete_internet_gateway, InternetGatewayId=id_),
        ),
        Amendment("AWS::EC2::Route", check=lambda properties: _check_route(clients, properties)),
        Amendment("AWS::EC2::VPCGatewayAttachment", None, lambda _, props: _detach(clients, props)),
    ]  # fmt: skip


def _vpc_attributes(_physical_id: str, properties: Properties) -> dict[str, Any]:
    return {"CidrBlock": properties.get("CidrBlock", "")}


def _subnet_attributes(_physical_id: str, properties: Properties) -> dict[str, Any]:
    known = ("VpcId", "CidrBlock", "AvailabilityZoneId")
    return {name: properties[name] for name in known if name in properties}


def _check_subnet(properties: Properties) -> None:
    """Its zone exists, and its addresses are the VPC's and no other subnet's."""
    zone = properties.get("AvailabilityZoneId")
    if zone is not None and api.zone_name(zone) is None:
        raise ResourceError(f"Value ({zone}) for parameter availabilityZoneId is invalid.")
    problem = ranges.subnet_problem(properties["VpcId"], str(properties["CidrBlock"]))
    if problem:
        raise ResourceError(problem)


def _check_route(clients: Clients, properties: Properties) -> None:
    """An internet gateway can be routed to only once it is attached to the table's VPC."""
    gateway_id, table_id = str(properties.get("GatewayId", "")), properties["RouteTableId"]
    if not gateway_id.startswith("igw-"):
        return
    table = clients.ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"][0]
    gateway = clients.ec2.describe_internet_gateways(InternetGatewayIds=[gateway_id])["InternetGateways"][0]
    if table["VpcId"] not in {attachment["VpcId"] for attachment in gateway["Attachments"]}:
        text = f"route table {table_id} and network gateway {gateway_id} belong to different networks"
        raise ResourceError(text)


def _detach(clients: Clients, properties: Properties) -> None:
    gateway = properties.get("InternetGatewayId")
    if gateway:
        gone(clients.ec2.detach_internet_gateway, InternetGatewayId=gateway, VpcId=properties["VpcId"])
