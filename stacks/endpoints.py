"""VPC endpoints: S3 always, and what nodes need of AWS where there is no way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_ec2
from constructs import Construct

from stacks.base import ClusterStack
from stacks.security_groups import SelfGroup, endpoint_group
from unbroken.config import ClusterConfig
from unbroken.config.endpoints import endpoint_services

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
    for service in endpoint_services(config):
        aws_ec2.CfnVPCEndpoint(
            place,
            service,
            vpc_id=vpc.ref,
            service_name=f"com.amazonaws.{stack.region}.{service}",
            vpc_endpoint_type="Interface",
            private_dns_enabled=True,
            subnet_ids=[private.ref],
            security_group_ids=[group.attr_group_id],
            policy_document=_policy(stack, config, service),
        )


def _policy(stack: ClusterStack, config: ClusterConfig, service: str) -> Policy | None:
    """A policy stands where only the nodes' role calls.

    HyperPod's agents may call the others as AWS's own account, which a policy would shut out. KMS has no
    endpoint: nodes use keys through S3 and EBS, which call it.
    """
    database = config.slurm.accounting_database
    if service == "secretsmanager" and database is not None:
        return _only(stack, ["secretsmanager:GetSecretValue"], [database.secret_arn])
    if service == "fsx":
        return _only(stack, ["fsx:DescribeFileSystems"], ["*"])
    if service == "aps-workspaces":
        return _only(stack, ["aps:RemoteWrite"], [stack.arn("aps", "workspace/*")])
    return None


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
