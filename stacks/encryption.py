"""Whose key data at rest is encrypted with, and the cluster's own key, if it has one.

A stack of its own and the first of all: log groups of the network stack need the key already.
"""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import App, RemovalPolicy, aws_iam, aws_kms
from constructs import Construct

from stacks.base import ClusterStack, removal
from stacks.permissions import Statement, allow, document, explain
from unbroken.config import ClusterConfig

LINKED_ROLE = "role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/*"
"""With which FSx for Lustre reads and writes linked buckets (FSx user guide, "Service-linked roles")."""


@dataclass(frozen=True)
class Encryption:
    """``key_arn`` is None where AWS's own keys are used."""

    key_arn: str | None


def encryption(app: App, config: ClusterConfig) -> Encryption:
    """The key of the cluster file; makes the stack of a key that is to be created."""
    choice = config.encryption.kms_key
    if choice == "create":
        return Encryption(EncryptionStack(app, config).key.attr_arn)
    return Encryption(None if choice == "aws" else choice)


class EncryptionStack(ClusterStack):
    """One key for everything of the cluster."""

    def __init__(self, scope: Construct, config: ClusterConfig) -> None:
        super().__init__(scope, "encryption", config, "Key")
        statements = [self._administer(), self._logs(config.name), self._linked_buckets()]
        self.key = aws_kms.CfnKey(
            self,
            "Key",
            description=f"Data at rest of HyperPod cluster {config.name}",
            enable_key_rotation=True,
            key_policy=document(statements),
            pending_window_in_days=config.encryption.deletion_wait_days,
        )
        explain(self.key, statements)
        self.key.apply_removal_policy(removal(config.encryption.deletion))
        alias = aws_kms.CfnAlias(
            self, "KeyAlias", alias_name=f"alias/{config.name}", target_key_id=self.key.ref
        )
        alias.apply_removal_policy(RemovalPolicy.DESTROY)  # the next deployment of this name needs it
        self.outputs({"KmsKeyArn": self.key.attr_arn})

    def _administer(self) -> Statement:
        return allow(
            "Administer",
            ["kms:*"],
            ["*"],
            principals=[aws_iam.AccountRootPrincipal()],
            purpose="IAM decides who in this account administers and uses the key; without it nobody could. "
            "FSx, S3, EBS volumes and Prometheus use it with the rights of whoever deploys or reads.",
        )

    def _logs(self, cluster: str) -> Statement:
        """Log groups are named after their stacks, but for those that AWS wants under a prefix of its own."""
        groups = [f"log-group:{cluster}-*", f"log-group:/aws/vendedlogs/prometheus/{cluster}"]
        arns = [self.arn("logs", group) for group in groups]
        return allow(
            "Logs",
            ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
            ["*"],
            {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": arns}},
            principals=[aws_iam.ServicePrincipal(f"logs.{self.region}.amazonaws.com")],
            purpose="CloudWatch Logs encrypts this cluster's log groups, and no others.",
        )

    def _linked_buckets(self) -> Statement:
        return allow(
            "LinkedBuckets",
            ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
            ["*"],
            {
                "StringEquals": {
                    "kms:CallerAccount": self.account,
                    "kms:ViaService": f"s3.{self.region}.amazonaws.com",
                },
                "ArnLike": {"aws:PrincipalArn": f"arn:{self.partition}:iam::{self.account}:{LINKED_ROLE}"},
            },
            principals=[aws_iam.AnyPrincipal()],
            purpose="FSx for Lustre's service-linked role, which takes no policy of ours, reads and writes "
            "encrypted objects of buckets that are linked to a file system.",
        )
