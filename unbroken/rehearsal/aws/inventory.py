"""What exists on the embedded AWS, and what a deploy and destroy left behind.

Taken over the public APIs, as an auditor of a real account would. Bootstrap's own stack, and what ministack
comes with (a default VPC), are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unbroken.rehearsal.aws.clients import Clients

BOOTSTRAP_STACK = "CDKToolkit"
GONE = ("DELETE_COMPLETE",)
LEFT_BY_AWS = "/aws/sagemaker/Clusters/"
"""HyperPod's log groups are the service's own and are not deleted with the cluster (inferred)."""


@dataclass(frozen=True, order=True)
class Item:
    """One thing that exists."""

    kind: str
    """Such as ``bucket`` or ``log group``."""
    identifier: str


@dataclass(frozen=True)
class Inventory:
    """Everything that exists at one moment."""

    items: frozenset[Item]
    retained: frozenset[str] = frozenset()
    """Physical ids of resources that stacks ever let go of by their DeletionPolicy."""


@dataclass(frozen=True)
class Leftovers:
    """What is there after that was not there before."""

    retained: list[Item] = field(default_factory=list)
    """Kept on purpose: by a DeletionPolicy, part of something that was, or left by the service itself."""
    unexpected: list[Item] = field(default_factory=list)


def inventory(port: int, region: str) -> Inventory:
    """Everything on the embedded AWS at this port."""
    clients = Clients(port, region)
    bootstrap = _physical_ids(clients, BOOTSTRAP_STACK)
    found = (Item(kind, name) for kind, names in _SOURCES.items() for name in names(clients))
    items = (item for item in found if item.identifier not in bootstrap | {BOOTSTRAP_STACK})
    return Inventory(frozenset(items), frozenset(_retained(clients)))


def leftovers(before: Inventory, after: Inventory) -> Leftovers:
    """What ``after`` has beyond ``before``, with what was kept on purpose told apart."""
    new = sorted(after.items - before.items)
    return Leftovers(
        retained=[item for item in new if _kept(item, after)],
        unexpected=[item for item in new if not _kept(item, after)],
    )


def _kept(item: Item, after: Inventory) -> bool:
    """Itself retained, or belonging to something retained: ``identifier`` then starts with that one's id."""
    owner = item.identifier.split(" of ")[-1]
    return item.identifier.startswith(LEFT_BY_AWS) or bool({item.identifier, owner} & after.retained)


def _retained(clients: Clients) -> Iterable[str]:
    """Physical ids that stack deletions and updates skipped, by the stacks' events."""
    cloudformation = clients.of("cloudformation")
    for stack in _stacks(clients, include_gone=True):
        pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack["StackId"])
        for page in pages:
            for event in page["StackEvents"]:
                if event["ResourceStatus"] == "DELETE_SKIPPED":
                    yield event["PhysicalResourceId"]


def _stacks(clients: Clients, *, include_gone: bool) -> list[Mapping[str, Any]]:
    pages = clients.of("cloudformation").get_paginator("list_stacks").paginate()
    summaries = [summary for page in pages for summary in page["StackSummaries"]]
    return [one for one in summaries if include_gone or one["StackStatus"] not in GONE]


def _physical_ids(clients: Clients, stack_name: str) -> frozenset[str]:
    if not any(stack["StackName"] == stack_name for stack in _stacks(clients, include_gone=False)):
        return frozenset()
    pages = clients.of("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack_name)
    return frozenset(
        resource["PhysicalResourceId"] for page in pages for resource in page["StackResourceSummaries"]
    )


def _stack_names(clients: Clients) -> Iterable[str]:
    return (stack["StackName"] for stack in _stacks(clients, include_gone=False))


def _listed(service: str, operation: str, member: str, name: str) -> Callable[[Clients], Iterable[str]]:
    """All values of ``name`` that a list operation answers."""

    def names(clients: Clients) -> Iterable[str]:
        client = clients.of(service)
        pageable = client.can_paginate(operation)
        pages = client.get_paginator(operation).paginate() if pageable else [getattr(client, operation)()]
        return [str(item[name]) for page in pages for item in page[member]]

    return names


def _ec2(operation: str, member: str, name: str) -> Callable[[Clients], Iterable[str]]:
    """EC2 resources, without those of ministack's default VPC."""

    def names(clients: Clients) -> Iterable[str]:
        default = clients.ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
        ours = {vpc["VpcId"] for vpc in default}
        found = getattr(clients.ec2, operation)()[member]
        return [str(item[name]) for item in found if not ours & _vpcs_of(item)]

    return names


def _vpcs_of(item: Mapping[str, Any]) -> set[str]:
    attached = {str(attachment.get("VpcId")) for attachment in item.get("Attachments", ())}
    return attached | {str(item.get("VpcId"))}


def _security_groups(clients: Clients) -> Iterable[str]:
    """The default group of a VPC comes and goes with it."""
    groups = clients.ec2.describe_security_groups()["SecurityGroups"]
    return [group["GroupId"] for group in groups if group["GroupName"] != "default"]


def _route_tables(clients: Clients) -> Iterable[str]:
    tables = clients.ec2.describe_route_tables()["RouteTables"]
    main = {vpc_main for vpc_main in (_main_table(table) for table in tables) if vpc_main}
    return [table["RouteTableId"] for table in tables if table["RouteTableId"] not in main]


def _main_table(table: Mapping[str, Any]) -> str:
    is_main = any(association.get("Main") for association in table.get("Associations", ()))
    return str(table["RouteTableId"]) if is_main else ""


def _nat_gateways(clients: Clients) -> Iterable[str]:
    gateways = clients.ec2.describe_nat_gateways()["NatGateways"]
    return [nat["NatGatewayId"] for nat in gateways if nat["State"] != "deleted"]


def _interfaces(clients: Clients) -> Iterable[str]:
    """An interface of a file system is named after it, so that it counts with it."""
    owners = {
        interface_id: system["FileSystemId"]
        for system in clients.of("fsx").describe_file_systems()["FileSystems"]
        for interface_id in system.get("NetworkInterfaceIds", ())
    }
    found = clients.ec2.describe_network_interfaces()["NetworkInterfaces"]
    ids = [interface["NetworkInterfaceId"] for interface in found]
    return [f"{one} of {owners[one]}" if one in owners else one for one in ids]


_SOURCES: dict[str, Callable[[Clients], Iterable[str]]] = {
    "stack": _stack_names,
    "bucket": lambda clients: [bucket["Name"] for bucket in clients.s3.list_buckets()["Buckets"]],
    "role": _listed("iam", "list_roles", "Roles", "RoleName"),
    "function": _listed("lambda", "list_functions", "Functions", "FunctionName"),
    "log group": _listed("logs", "describe_log_groups", "logGroups", "logGroupName"),
    "parameter": _listed("ssm", "describe_parameters", "Parameters", "Name"),
    "file system": _listed("fsx", "describe_file_systems", "FileSystems", "FileSystemId"),
    "data repository association": _listed(
        "fsx", "describe_data_repository_associations", "Associations", "AssociationId"
    ),
    "HyperPod cluster": _listed("sagemaker", "list_clusters", "ClusterSummaries", "ClusterName"),
    "VPC": _ec2("describe_vpcs", "Vpcs", "VpcId"),
    "subnet": _ec2("describe_subnets", "Subnets", "SubnetId"),
    "internet gateway": _ec2("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    "VPC endpoint": _ec2("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    "Elastic IP": _ec2("describe_addresses", "Addresses", "PublicIp"),
    "flow log": _ec2("describe_flow_logs", "FlowLogs", "FlowLogId"),
    "security group": _security_groups,
    "route table": _route_tables,
    "NAT gateway": _nat_gateways,
    "network interface": _interfaces,
}
