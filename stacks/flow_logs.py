"""Flow logs of the VPC, with a role that lets them arrive."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_ec2, aws_iam, aws_logs

from stacks.base import ClusterStack
from stacks.encryption import Encryption
from stacks.permissions import allow, role
from unbroken.config import ClusterConfig


def flow_logs(
    stack: ClusterStack, config: ClusterConfig, vpc: aws_ec2.CfnVPC, encryption: Encryption
) -> None:
    """Flow logs arrive only if the role names the very group they go to, so both are one Ref."""
    group = aws_logs.CfnLogGroup(
        stack,
        "FlowLogGroup",
        retention_in_days=config.logs.retention_days,
        kms_key_id=encryption.key_arn,
    )
    group.apply_removal_policy(RemovalPolicy.DESTROY)
    aws_ec2.CfnFlowLog(
        stack,
        "FlowLog",
        resource_type="VPC",
        resource_id=vpc.ref,
        traffic_type="ALL",
        log_destination_type="cloud-watch-logs",
        log_group_name=group.ref,
        deliver_logs_permission_arn=_delivery_role(stack, group).role_arn,
    )


def _delivery_role(stack: ClusterStack, group: aws_logs.CfnLogGroup) -> aws_iam.Role:
    """It cannot make the group again once it is deleted. Trust: VPC user guide, "IAM role for publishing"."""
    write = allow(
        "Write",
        ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        [group.attr_arn],  # ends in :*, which stands for the group's streams
        purpose="Flow logs are written to the stack's own log group.",
    )
    find = allow(
        "Find",
        ["logs:DescribeLogGroups"],
        ["*"],
        purpose="The delivery looks for its group among all; CloudWatch Logs narrows a listing to no group.",
    )
    return role(
        stack,
        "FlowLogRole",
        service="vpc-flow-logs.amazonaws.com",
        description="Delivers the VPC's flow logs",
        policies={"deliver": [write, find]},
        trust={
            "StringEquals": {"aws:SourceAccount": stack.account},
            "ArnLike": {"aws:SourceArn": stack.arn("ec2", "vpc-flow-log/*")},
        },
    )
