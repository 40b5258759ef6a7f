"""VPC endpoints in EC2's API: gateway endpoints with their routes, interface endpoints with their interfaces.

Rules and error codes: EC2 API reference, CreateVpcEndpoint and the list of error codes; PrivateLink guide,
"Access an AWS service using an interface VPC endpoint" (one subnet a zone; private DNS needs both DNS
attributes of the VPC).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ministack.services.ec2 as ec2

from unbroken.rehearsal.aws.ec2 import interfaces
from unbroken.rehearsal.aws.ec2.wording import Params, Response, error

GATEWAY = frozenset({"s3", "dynamodb"})
INTERFACE = frozenset(
    "aps aps-workspaces autoscaling cloudformation ec2 ec2messages ecr.api ecr.dkr elasticfilesystem events "
    "fsx grafana grafana-workspace kms lambda logs monitoring s3 sagemaker.api sagemaker.runtime "
    "secretsmanager sns sqs ssm ssmmessages sts".split()
)
"""Services that have an endpoint of that type (PrivateLink guide, "AWS services that integrate"); a part."""

Problem = tuple[str, str]
Record = dict[str, Any]


def create(params: Params) -> Response:
    """CreateVpcEndpoint."""
    wanted = _wanted(params)
    for code, text in _problems(wanted):
        return error(code, text)
    ec2._create_vpc_endpoint(params)
    record: Record = list(ec2._vpc_endpoints.values())[-1]
    record.update(wanted, NetworkInterfaceIds=[])
    _route(record, record["RouteTableIds"])
    try:
        _enter(record, record["SubnetIds"])
    except ValueError as refused:
        _remove(record["VpcEndpointId"])
        return error("InsufficientFreeAddressesInSubnet", str(refused))
    response: Response = ec2._xml(200, "CreateVpcEndpointResponse", fields(record, tag="vpcEndpoint"))
    return response


def delete(params: Params) -> Response:
    """DeleteVpcEndpoints."""
    for endpoint_id in ec2._parse_member_list(params, "VpcEndpointId"):
        _remove(endpoint_id)
    response: Response = ec2._xml(200, "DeleteVpcEndpointsResponse", "<unsuccessful/>")
    return response


def modify(params: Params) -> Response:
    """ModifyVpcEndpoint: route tables, subnets, groups, policy and private DNS."""
    record = ec2._vpc_endpoints.get(ec2._p(params, "VpcEndpointId"))
    if record is None:
        return error("InvalidVpcEndpointId.NotFound", "The VPC endpoint does not exist")
    for name in ("RouteTable", "Subnet", "SecurityGroup"):
        gone = ec2._parse_member_list(params, f"Remove{name}Id")
        come = ec2._parse_member_list(params, f"Add{name}Id")
        record[f"{name}Ids"] = [one for one in record[f"{name}Ids"] if one not in gone] + come
    _unroute(record["VpcEndpointId"])
    _route(record, record["RouteTableIds"])
    _renew_interfaces(record)
    record["PolicyDocument"] = ec2._p(params, "PolicyDocument") or record.get("PolicyDocument")
    private = ec2._p(params, "PrivateDnsEnabled")
    record["PrivateDnsEnabled"] = private.lower() == "true" if private else record["PrivateDnsEnabled"]
    response: Response = ec2._xml(200, "ModifyVpcEndpointResponse", "<return>true</return>")
    return response


def _wanted(params: Params) -> Record:
    """The request, with EC2's defaults."""
    vpc_id, kind = ec2._p(params, "VpcId"), ec2._p(params, "VpcEndpointType") or "Gateway"
    groups = ec2._parse_member_list(params, "SecurityGroupId")
    default = ec2._vpcs.get(vpc_id, {}).get("DefaultSecurityGroupId", "")
    return {
        "VpcId": vpc_id,
        "VpcEndpointType": kind,
        "ServiceName": ec2._p(params, "ServiceName"),
        "RouteTableIds": ec2._parse_member_list(params, "RouteTableId"),
        "SubnetIds": ec2._parse_member_list(params, "SubnetId"),
        "SecurityGroupIds": groups or ([default] if kind == "Interface" else []),
        "PrivateDnsEnabled": ec2._p(params, "PrivateDnsEnabled").lower() == "true",
        "PolicyDocument": ec2._p(params, "PolicyDocument") or None,
    }


def _problems(wanted: Record) -> Iterator[Problem]:
    if wanted["VpcId"] not in ec2._vpcs:
        yield "InvalidVpcId.NotFound", f"The Vpc Id {wanted['VpcId']} does not exist"
        return
    kind, service = wanted["VpcEndpointType"], wanted["ServiceName"]
    known = {"Gateway": GATEWAY, "Interface": INTERFACE}.get(kind, frozenset())
    if service.removeprefix(f"com.amazonaws.{ec2.get_region()}.") not in known:
        yield "InvalidServiceName", f"The Vpc Endpoint Service '{service}' does not exist as {kind}"
    yield from _gateway_problems(wanted) if kind == "Gateway" else _interface_problems(wanted)


def _gateway_problems(wanted: Record) -> Iterator[Problem]:
    prefix_list = _prefix_list(wanted["ServiceName"])
    for table_id in wanted["RouteTableIds"]:
        table = ec2._route_tables.get(table_id)
        if table is None or table["VpcId"] != wanted["VpcId"]:
            yield "InvalidRouteTableId.NotFound", f"The route table '{table_id}' does not exist in the VPC"
        elif any(route.get("DestinationPrefixListId") == prefix_list for route in table["Routes"]):
            text = f"route table {table_id} already has a route with destination-prefix-list-id {prefix_list}"
            yield "RouteAlreadyExists", text


def _interface_problems(wanted: Record) -> Iterator[Problem]:
    zones: set[str] = set()
    for subnet_id in wanted["SubnetIds"]:
        subnet = ec2._subnets.get(subnet_id)
        if subnet is None or subnet["VpcId"] != wanted["VpcId"]:
            yield "InvalidSubnetId.NotFound", f"The subnet ID '{subnet_id}' does not exist in the VPC"
        elif subnet["AvailabilityZone"] in zones:
            text = f"Found another VPC endpoint subnet in the availability zone of {subnet_id}"
            yield "DuplicateSubnetsInSameZone", text
        zones.add(subnet["AvailabilityZone"] if subnet else "")
    for group_id in wanted["SecurityGroupIds"]:
        if group_id not in ec2._security_groups:
            yield "InvalidSecurityGroupId.NotFound", f"The security group ID '{group_id}' does not exist"
    if wanted["PrivateDnsEnabled"]:
        yield from _dns_problems(wanted)


def _dns_problems(wanted: Record) -> Iterator[Problem]:
    vpc = ec2._vpcs[wanted["VpcId"]]
    if not (vpc.get("EnableDnsSupport", True) and vpc.get("EnableDnsHostnames", False)):
        text = "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set"
        yield "InvalidParameter", f"{text} to true for {wanted['VpcId']}"
    for other in ec2._vpc_endpoints.values():
        same = all(other[name] == wanted[name] for name in ("VpcId", "ServiceName"))
        if same and other.get("PrivateDnsEnabled"):
            text = f"there is already a conflicting DNS domain for {wanted['ServiceName']} in the VPC"
            yield "InvalidParameter", f"private-dns-enabled cannot be set because {text} {wanted['VpcId']}"


def _prefix_list(service_name: str) -> str:
    ec2._describe_prefix_lists({})  # makes those of AWS's services
    lists = {one["PrefixListName"]: one["PrefixListId"] for one in ec2._prefix_lists.values()}
    return str(lists.get(service_name, f"pl-of-{service_name}"))


def _route(record: Record, table_ids: list[str]) -> None:
    for table_id in table_ids:
        ec2._route_tables[table_id]["Routes"].append(
            {
                "DestinationPrefixListId": _prefix_list(record["ServiceName"]),
                "GatewayId": record["VpcEndpointId"],
                "State": "active",
                "Origin": "CreateRoute",
            }
        )


def _unroute(endpoint_id: str) -> None:
    for table in ec2._route_tables.values():
        table["Routes"] = [route for route in table["Routes"] if route.get("GatewayId") != endpoint_id]


def _description(endpoint_id: str) -> str:
    return f"VPC Endpoint Interface {endpoint_id}"


def _enter(record: Record, subnet_ids: list[str]) -> None:
    """An interface in each subnet; ValueError where one is full."""
    for subnet_id in subnet_ids:
        made = interfaces.add(
            ec2._subnets[subnet_id],
            description=_description(record["VpcEndpointId"]),
            groups=record["SecurityGroupIds"],
            kind="vpc_endpoint",
        )
        record["NetworkInterfaceIds"].append(made["NetworkInterfaceId"])


def _renew_interfaces(record: Record) -> None:
    interfaces.remove(_description(record["VpcEndpointId"]))
    record["NetworkInterfaceIds"] = []
    _enter(record, record["SubnetIds"])


def _remove(endpoint_id: str) -> None:
    interfaces.remove(_description(endpoint_id))
    _unroute(endpoint_id)
    ec2._vpc_endpoints.pop(endpoint_id, None)
    ec2._tags.pop(endpoint_id, None)


def fields(record: Record, tag: str = "item") -> str:
    """An endpoint in EC2's XML."""
    groups = "".join(f"<item><groupId>{one}</groupId></item>" for one in record.get("SecurityGroupIds", ()))
    ids = "".join(f"<item>{one}</item>" for one in record.get("NetworkInterfaceIds", ()))
    policy = record.get("PolicyDocument")
    more = (
        f"<groupSet>{groups}</groupSet><networkInterfaceIdSet>{ids}</networkInterfaceIdSet>"
        f"<privateDnsEnabled>{str(bool(record.get('PrivateDnsEnabled'))).lower()}</privateDnsEnabled>"
        + (f"<policyDocument>{ec2._esc(str(policy))}</policyDocument>" if policy else "")
    )
    whole: str = ec2._vpce_fields_xml(record, tag=tag)
    return whole[: whole.rindex(f"</{tag}>")] + more + f"</{tag}>"


ACTIONS: dict[str, Callable[[Params], Response]] = {
    "CreateVpcEndpoint": create,
    "DeleteVpcEndpoints": delete,
    "ModifyVpcEndpoint": modify,
}
