"""The cluster's execution role: what nodes, and HyperPod for them, may do.

It grants what AmazonSageMakerClusterInstanceRolePolicy grants, narrowed to this cluster, and what a cluster
in a VPC of one's own needs besides (SageMaker developer guide, "IAM role for SageMaker HyperPod"). The
managed policy itself is not attached: it can read every bucket that begins with ``sagemaker-``.
"""

from __future__ import annotations

from aws_cdk import aws_iam
from constructs import Construct

from stacks.base import ClusterStack
from stacks.buckets import lifecycle_bucket_name
from unbroken.config import ClusterConfig

METRIC_NAMESPACE = "/aws/sagemaker/Clusters"


class IdentityStack(ClusterStack):
    """One role for all groups."""

    def __init__(self, scope: Construct, config: ClusterConfig) -> None:
        super().__init__(scope, "identity", config, "Execution role")
        self.role = aws_iam.Role(
            self,
            "ExecutionRole",
            description=f"Nodes of HyperPod cluster {config.name}",
            assumed_by=aws_iam.ServicePrincipal("sagemaker.amazonaws.com"),
            inline_policies={
                "bundle": _document(self._bundle(config)),
                "logs": _document(self._logs(config.name)),
                "session": _document([_session()]),
                "vpc": _document(self._vpc()),
            },
        )
        self.outputs({"ExecutionRoleArn": self.role.role_arn})

    def _bundle(self, config: ClusterConfig) -> list[aws_iam.PolicyStatement]:
        """Read the lifecycle bucket. The data bucket is FSx's to read and write, not the nodes'."""
        arn = f"arn:{self.partition}:s3:::{lifecycle_bucket_name(config, self.account)}"
        return [
            _allow("Objects", ["s3:GetObject"], [f"{arn}/*"]),
            _allow("List", ["s3:ListBucket"], [arn]),
        ]

    def _logs(self, cluster: str) -> list[aws_iam.PolicyStatement]:
        group = self._arn("logs", f"log-group:/aws/sagemaker/Clusters/{cluster}/*")
        return [
            _allow("Group", ["logs:CreateLogGroup"], [group]),
            _allow(
                "Streams",
                ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                [f"{group}:log-stream:*"],
            ),
            # No resource can be named for metrics; the namespace is what narrows this.
            _allow(
                "Metrics",
                ["cloudwatch:PutMetricData"],
                ["*"],
                {"StringEquals": {"cloudwatch:namespace": METRIC_NAMESPACE}},
            ),
        ]

    def _vpc(self) -> list[aws_iam.PolicyStatement]:
        """HyperPod puts an interface of each node into our subnet."""
        interface = self._arn("ec2", "network-interface/*")
        where = [self._arn("ec2", "subnet/*"), self._arn("ec2", "security-group/*")]
        owned = [
            "ec2:CreateNetworkInterfacePermission",
            "ec2:DeleteNetworkInterface",
            "ec2:DeleteNetworkInterfacePermission",
        ]
        describe = ["DhcpOptions", "NetworkInterfaces", "SecurityGroups", "Subnets", "Vpcs"]
        return [
            _allow("CreateInterfaces", ["ec2:CreateNetworkInterface"], [interface, *where]),
            _allow("OwnInterfaces", owned, [interface]),
            _allow("TagInterfaces", ["ec2:CreateTags"], [interface]),
            # The instance an interface is taken from belongs to the service's account.
            _allow("DetachInterfaces", ["ec2:DetachNetworkInterface"], ["*"]),
            # EC2 takes no resource for these.
            _allow("Look", [f"ec2:Describe{what}" for what in describe], ["*"]),
        ]

    def _arn(self, service: str, resource: str) -> str:
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"


def _session() -> aws_iam.PolicyStatement:
    """Session Manager, the only way to log in; it takes no resource."""
    channels = ["CreateControlChannel", "CreateDataChannel", "OpenControlChannel", "OpenDataChannel"]
    return _allow("Channels", [f"ssmmessages:{channel}" for channel in channels], ["*"])


def _allow(
    sid: str, actions: list[str], resources: list[str], conditions: dict[str, object] | None = None
) -> aws_iam.PolicyStatement:
    return aws_iam.PolicyStatement(sid=sid, actions=actions, resources=resources, conditions=conditions)


def _document(statements: list[aws_iam.PolicyStatement]) -> aws_iam.PolicyDocument:
    return aws_iam.PolicyDocument(statements=statements)
