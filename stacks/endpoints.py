"""VPC endpoints: S3 always, and what nodes need of AWS where there is no way out.

The list is what nodes and HyperPod's agents on them call: AWS's own list for closed HyperPod networks
(awslabs/awsome-distributed-ai, Terraform module vpc_endpoints) without the parts that only EKS needs. It was
tried on no live cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from aws_cdk import aws_ec2
from constructs import Construct

from stacks.base import ClusterStack
from stacks.security_groups import SelfGroup, endpoint_group
from unbroken.config import ClusterConfig

ALWAYS = ("ec2", "ec2messages", "logs", "monitoring", "ssm", "ssmmessages", "sts")
"""Interfaces and zone, Session Manager (three), logs, metrics, and who one is."""

Policy = dict[str, Any]


def s3_endpoint(
    scope: ClusterStack, vpc: aws_ec2.CfnVPC, route_tables: Sequence[aws_ec2.CfnRouteTable]
) -> None:
    """Bundles, data and checkpoints go to S3 past the NAT gateway, which is charged by the gigabyte.

    No policy of its own: AWS's agents and package mirrors read buckets whose names AWS does not publish.
    """
    aws_ec2.CfnVPCEndpoint(
        scope,
        "S3Endpoint",
        vpc_id=vpc.ref,
        service_name=f"com.amazonaws.{scope.region}.s3",
        vpc_endpoint_type="Gateway",
        route_table_ids=[table.ref for table in route_tables],
    )


def interface_endpoints(
    stack: ClusterStack,
    config: ClusterConfig,
    vpc: aws_ec2.CfnVPC,
    private: aws_ec2.CfnSubnet,
    members: SelfGroup,
) -> None:
    """One a service, in the private subnet alone: each zone would be charged by the hour."""
    group = endpoint_group(stack, vpc, members)
    place = Construct(stack, "Endpoints")
    for service, policy in _services(stack, config):
        aws_ec2.CfnVPCEndpoint(
            place,
            service,
            vpc_id=vpc.ref,
            service_name=f"com.amazonaws.{stack.region}.{service}",
            vpc_endpoint_type="Interface",
            private_dns_enabled=True,
            subnet_ids=[private.ref],
            security_group_ids=[group.attr_group_id],
            policy_document=policy,
        )


def _services(stack: ClusterStack, config: ClusterConfig) -> Iterator[tuple[str, Policy | None]]:
    """Services and their endpoints' policies.

    A policy stands where only the nodes' role calls. HyperPod's agents may call the others as AWS's own
    account, which a policy would shut out. KMS has none: nodes use keys through S3 and EBS, which call it.
    """
    for service in ALWAYS:
        yield service, None
    database = config.slurm.accounting_database
    if database is not None:
        yield "secretsmanager", _only(stack, ["secretsmanager:GetSecretValue"], [database.secret_arn])
    if config.slurm.mode == "api":
        yield "fsx", _only(stack, ["fsx:DescribeFileSystems"], ["*"])
    if config.observability.prometheus != "none":
        workspaces = stack.arn("aps", "workspace/*")
        yield "aps-workspaces", _only(stack, ["aps:RemoteWrite"], [workspaces])


def _only(stack: ClusterStack, actions: list[str], resources: list[str]) -> Policy:
    """These actions, by principals of this account."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": "*",
                "Action": actions,
                "Resource": resources,
                "Condition": {"StringEquals": {"aws:PrincipalAccount": stack.account}},
            }
        ],
    }
