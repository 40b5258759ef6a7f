"""What there is of each kind, by the public APIs that list it; the inventory adds it up.

What a VPC or ministack brings along by itself is left out: default groups, main tables, the default VPC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unbroken.rehearsal.aws import environment
from unbroken.rehearsal.aws.clients import Clients

Names = Callable[[Clients], Iterable[str]]

PENDING_KEY = "KMS key pending deletion"
LINKED_ROLE = "service-linked role"
LEFT_ALONE = (PENDING_KEY, LINKED_ROLE)
"""Kinds that nobody can delete at once, or at all: AWS itself ends them, and they cost nothing."""
GONE = ("DELETE_COMPLETE",)


def stacks(clients: Clients, *, include_gone: bool) -> list[Mapping[str, Any]]:
    """Summaries of all stacks."""
    pages = clients.of("cloudformation").get_paginator("list_stacks").paginate()
    summaries = [summary for page in pages for summary in page["StackSummaries"]]
    return [one for one in summaries if include_gone or one["StackStatus"] not in GONE]


def _stack_names(clients: Clients) -> Iterable[str]:
    return (stack["StackName"] for stack in stacks(clients, include_gone=False))


def _listed(service: str, operation: str, member: str, name: str, **asked: Any) -> Names:
    """All values of ``name`` that a list operation answers."""

    def names(clients: Clients) -> Iterable[str]:
        client = clients.of(service)
        if client.can_paginate(operation):
            pages = client.get_paginator(operation).paginate(**asked)
        else:
            pages = [getattr(client, operation)(**asked)]
        return [str(item[name]) for page in pages for item in page.get(member, ())]

    return names


def _ec2(operation: str, member: str, name: str) -> Names:
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


def _groups(clients: Clients) -> list[Mapping[str, Any]]:
    """Security groups; the default group of a VPC comes and goes with it."""
    groups = clients.ec2.describe_security_groups()["SecurityGroups"]
    return [group for group in groups if group["GroupName"] != "default"]


def _rules(clients: Clients) -> Iterable[str]:
    """Rules by which a group lets another one in or out: one of ours can be in somebody else's group."""
    ours = {group["GroupId"] for group in _groups(clients)}
    pages = clients.ec2.get_paginator("describe_security_group_rules").paginate()
    for rule in (rule for page in pages for rule in page["SecurityGroupRules"]):
        if rule["GroupId"] in ours and "ReferencedGroupInfo" in rule:
            yield f"{rule['SecurityGroupRuleId']} of {rule['GroupId']}"


def _route_tables(clients: Clients) -> Iterable[str]:
    tables = clients.ec2.describe_route_tables()["RouteTables"]
    return [table["RouteTableId"] for table in tables if not _is_main(table)]


def _is_main(table: Mapping[str, Any]) -> bool:
    return any(association.get("Main") for association in table.get("Associations", ()))


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


def _roles(*, linked: bool) -> Names:
    def names(clients: Clients) -> Iterable[str]:
        pages = clients.iam.get_paginator("list_roles").paginate()
        roles = [role for page in pages for role in page["Roles"]]
        return [r["RoleName"] for r in roles if r["Path"].startswith("/aws-service-role/") is linked]

    return names


def _keys(*, pending: bool) -> Names:
    def names(clients: Clients) -> Iterable[str]:
        kms = clients.of("kms")
        pages = kms.get_paginator("list_keys").paginate()
        ids = [key["KeyId"] for page in pages for key in page["Keys"]]
        known = [kms.describe_key(KeyId=key_id)["KeyMetadata"] for key_id in ids]
        mine = [key for key in known if key["KeyManager"] == "CUSTOMER"]
        return [key["KeyId"] for key in mine if (key["KeyState"] == "PendingDeletion") is pending]

    return names


def _aliases(clients: Clients) -> Iterable[str]:
    pages = clients.of("kms").get_paginator("list_aliases").paginate()
    names = [alias["AliasName"] for page in pages for alias in page["Aliases"]]
    return [name for name in names if not name.startswith("alias/aws/")]


SOURCES: dict[str, Names] = {
    "stack": _stack_names,
    "bucket": lambda clients: [bucket["Name"] for bucket in clients.s3.list_buckets()["Buckets"]],
    "role": _roles(linked=False),
    LINKED_ROLE: _roles(linked=True),
    "policy": _listed("iam", "list_policies", "Policies", "Arn", Scope="Local"),
    "function": _listed("lambda", "list_functions", "Functions", "FunctionName"),
    "layer": _listed("lambda", "list_layers", "Layers", "LayerName"),
    "log group": _listed("logs", "describe_log_groups", "logGroups", "logGroupName"),
    "alarm": _listed("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    "parameter": _listed("ssm", "describe_parameters", "Parameters", "Name"),
    "secret": _listed("secretsmanager", "list_secrets", "SecretList", "ARN"),
    "KMS key": _keys(pending=False),
    PENDING_KEY: _keys(pending=True),
    "KMS alias": _aliases,
    "file system": _listed("fsx", "describe_file_systems", "FileSystems", "FileSystemId"),
    "file system backup": _listed("fsx", "describe_backups", "Backups", "BackupId"),
    "data repository association": _listed(
        "fsx", "describe_data_repository_associations", "Associations", "AssociationId"
    ),
    "HyperPod cluster": _listed("sagemaker", "list_clusters", "ClusterSummaries", "ClusterName"),
    "Prometheus workspace": _listed("amp", "list_workspaces", "workspaces", "arn"),
    "Grafana workspace": _listed("grafana", "list_workspaces", "workspaces", "id"),
    "budget": _listed("budgets", "describe_budgets", "Budgets", "BudgetName", AccountId=environment.ACCOUNT),
    "VPC": _ec2("describe_vpcs", "Vpcs", "VpcId"),
    "subnet": _ec2("describe_subnets", "Subnets", "SubnetId"),
    "internet gateway": _ec2("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    "VPC endpoint": _ec2("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    "Elastic IP": _ec2("describe_addresses", "Addresses", "PublicIp"),
    "flow log": _ec2("describe_flow_logs", "FlowLogs", "FlowLogId"),
    "security group": lambda clients: [group["GroupId"] for group in _groups(clients)],
    "security group rule": _rules,
    "route table": _route_tables,
    "NAT gateway": _nat_gateways,
    "network interface": _interfaces,
}
