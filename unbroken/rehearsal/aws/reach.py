"""What nodes in a subnet can reach: by its route table's ways out, and by the VPC's endpoints.

A node has no public address, so an internet gateway alone leads it nowhere (VPC user guide, "Enable internet
access"). Routes to a transit gateway, a peer or an appliance are taken to lead out: the rehearsal cannot see
what is behind them. Security groups and network ACLs are not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.hyperpod.machines import Reach

WAYS_OUT = ("NatGatewayId", "TransitGatewayId", "VpcPeeringConnectionId", "NetworkInterfaceId", "InstanceId")
ANYWHERE = "0.0.0.0/0"


def reach(ec2: Any, subnet_id: str) -> Reach:
    """What can be reached from a subnet; nothing where there is no such subnet."""
    found = ec2.describe_subnets(Filters=[{"Name": "subnet-id", "Values": [subnet_id]}])["Subnets"]
    if not found:
        return Reach(internet=False)
    table = _route_table(ec2, found[0])
    endpoints = ec2.describe_vpc_endpoints()["VpcEndpoints"]
    services = {_service(e) for e in endpoints if e["VpcId"] == found[0]["VpcId"] and _serves(e, table)}
    return Reach(_leads_out(table), frozenset(services))


def _route_table(ec2: Any, subnet: Mapping[str, Any]) -> Mapping[str, Any]:
    """The subnet's own table, else the VPC's main one."""
    tables = [t for t in ec2.describe_route_tables()["RouteTables"] if t["VpcId"] == subnet["VpcId"]]
    for table in tables:
        if any(a.get("SubnetId") == subnet["SubnetId"] for a in table["Associations"]):
            return dict(table)
    mains = [table for table in tables if any(a.get("Main") for a in table["Associations"])]
    return dict(mains[0]) if mains else {"RouteTableId": "", "Routes": []}


def _leads_out(table: Mapping[str, Any]) -> bool:
    return any(
        route.get("DestinationCidrBlock") == ANYWHERE and any(route.get(way) for way in WAYS_OUT)
        for route in table["Routes"]
    )


def _service(endpoint: Mapping[str, Any]) -> str:
    """``s3`` of com.amazonaws.us-west-2.s3, ``api`` of com.amazonaws.us-west-2.sagemaker.api is sagemaker."""
    parts = str(endpoint["ServiceName"]).split(".")[3:]
    return parts[0] if parts else ""


def _serves(endpoint: Mapping[str, Any], table: Mapping[str, Any]) -> bool:
    if endpoint.get("VpcEndpointType", "Gateway") == "Gateway":
        return table["RouteTableId"] in endpoint.get("RouteTableIds", [])
    return True
