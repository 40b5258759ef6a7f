"""The cluster's execution role: what nodes, and HyperPod for them, may do.

It grants what AmazonSageMakerClusterInstanceRolePolicy grants, narrowed to this cluster, and what a cluster
in a VPC of one's own needs besides (SageMaker developer guide, "IAM role for SageMaker HyperPod"). The
managed policy itself is not attached: it can read every bucket that begins with ``sagemaker-``.
"""

from __future__ import annotations

from constructs import Construct

from stacks.base import ClusterStack
from stacks.buckets import lifecycle_bucket_name
from stacks.encryption import Encryption
from stacks.interfaces import interface_statements
from stacks.network import NetworkStack
from stacks.permissions import Statement, allow, role
from unbroken.config import ClusterConfig

METRIC_NAMESPACE = "/aws/sagemaker/Clusters"
PREFIXES = ("lifecycle", "training")
"""Of the lifecycle bucket: what stacks/uploads.py puts there."""


class IdentityStack(ClusterStack):
    """One role for all groups: ``role_arn`` is it, made here or brought along.

    ``role_name`` is None where the role was brought along, for nothing is added to such a role.
    """

    def __init__(
        self, scope: Construct, config: ClusterConfig, network: NetworkStack, encryption: Encryption
    ) -> None:
        super().__init__(scope, "identity", config, "Execution role")
        self.role_name: str | None = None
        if config.identity.execution_role_arn is not None:
            self.role_arn = config.identity.execution_role_arn
        else:
            made = role(
                self,
                "ExecutionRole",
                service="sagemaker.amazonaws.com",
                description=f"Nodes of HyperPod cluster {config.name}",
                policies={
                    "bundle": self._bundle(config),
                    "logs": self._logs(config.name),
                    "session": [_session()],
                    "vpc": interface_statements(self, config, network),
                    "keys": self._keys(config, encryption),
                    "slurm": _slurm(config),
                },
            )
            self.role_arn, self.role_name = made.role_arn, made.role_name
        self.outputs({"ExecutionRoleArn": self.role_arn})

    def _bundle(self, config: ClusterConfig) -> list[Statement]:
        """Read the lifecycle bucket. The data bucket is FSx's to read and write, not the nodes'."""
        arn = f"arn:{self.partition}:s3:::{lifecycle_bucket_name(config, self.account)}"
        return [
            allow(
                "Objects",
                ["s3:GetObject"],
                [f"{arn}/{prefix}/*" for prefix in PREFIXES],
                purpose="HyperPod and the nodes' own steps download the bundle and the training code.",
            ),
            allow(
                "List",
                ["s3:ListBucket"],
                [arn],
                purpose="HyperPod lists the bundle's files before it downloads them.",
            ),
        ]

    def _logs(self, cluster: str) -> list[Statement]:
        group = self.arn("logs", f"log-group:/aws/sagemaker/Clusters/{cluster}/*")
        return [
            allow(
                "Group",
                ["logs:CreateLogGroup"],
                [group],
                purpose="HyperPod's agents make the cluster's log group; its name ends in an id that only "
                "they know.",
            ),
            allow(
                "Streams",
                ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                [f"{group}:log-stream:*"],
                purpose="Lifecycle scripts and health checks of every node are logged.",
            ),
            allow(
                "Metrics",
                ["cloudwatch:PutMetricData"],
                ["*"],
                {"StringEquals": {"cloudwatch:namespace": METRIC_NAMESPACE}},
                purpose="HyperPod's agents report metrics. CloudWatch takes no resource here: the namespace "
                "narrows it.",
            ),
        ]

    def _keys(self, config: ClusterConfig, encryption: Encryption) -> list[Statement]:
        volumes = {group.volume_kms_key for group in config.groups()} - {None}
        keys = ([encryption.key_arn] if encryption.key_arn else []) + sorted(key for key in volumes if key)
        if not keys:
            return []
        services = [f"{service}.{self.region}.amazonaws.com" for service in ("ec2", "sagemaker")]
        via = {"StringEquals": {"kms:ViaService": services}}
        return [
            allow(
                "VolumeKeys",
                ["kms:CreateGrant"],
                keys,
                via | {"Bool": {"kms:GrantIsForAWSResource": "true"}},
                purpose="HyperPod lets EBS, and nobody else, encrypt the nodes' volumes with these keys.",
            ),
            allow(
                "LookAtKeys",
                ["kms:DescribeKey"],
                keys,
                via,
                purpose="HyperPod and EBS make sure that the keys exist and can be used.",
            ),
            *self._bundle_key(encryption),
        ]

    def _bundle_key(self, encryption: Encryption) -> list[Statement]:
        if encryption.key_arn is None:
            return []
        read = allow(
            "BundleKey",
            ["kms:Decrypt"],
            [encryption.key_arn],
            {"StringEquals": {"kms:ViaService": f"s3.{self.region}.amazonaws.com"}},
            purpose="Objects of the lifecycle bucket are encrypted with this key; it opens nothing else.",
        )
        return [read]


def _session() -> Statement:
    channels = ["CreateControlChannel", "CreateDataChannel", "OpenControlChannel", "OpenDataChannel"]
    return allow(
        "Channels",
        [f"ssmmessages:{channel}" for channel in channels],
        ["*"],
        purpose="Session Manager is the only way to log in. It takes no resource.",
    )


def _slurm(config: ClusterConfig) -> list[Statement]:
    statements = []
    if config.slurm.mode == "api":
        look = allow(
            "FileSystems",
            ["fsx:DescribeFileSystems"],
            ["*"],
            purpose="HyperPod looks up the file systems that it mounts itself. FSx takes no resource here.",
        )
        statements.append(look)
    if config.slurm.accounting_database is not None:
        secret = allow(
            "AccountingSecret",
            ["secretsmanager:GetSecretValue"],
            [config.slurm.accounting_database.secret_arn],
            purpose="The controller reads the password of the accounting database.",
        )
        statements.append(secret)
    return statements
