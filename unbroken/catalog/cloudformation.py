"""CloudFormation's names for what this project asks about, and what is the same of them everywhere."""

from __future__ import annotations

CLUSTER = "AWS::SageMaker::Cluster"
FILE_SYSTEM = "AWS::FSx::FileSystem"
BUCKET = "AWS::S3::Bucket"
LOG_GROUP = "AWS::Logs::LogGroup"
SECURITY_GROUP = "AWS::EC2::SecurityGroup"

NOUNS = {
    CLUSTER: "cluster",
    FILE_SYSTEM: "file system",
    BUCKET: "bucket",
    "AWS::APS::Workspace": "Prometheus workspace",
    "AWS::Grafana::Workspace": "Grafana workspace",
    LOG_GROUP: "log group",
    SECURITY_GROUP: "security group",
    "AWS::EC2::Subnet": "subnet",
    "AWS::EC2::VPC": "VPC",
    "AWS::KMS::Key": "KMS key",
}
"""What people call a type; the others go by CloudFormation's name."""
HOLDS_DATA = frozenset(
    {FILE_SYSTEM, BUCKET, "AWS::KMS::Key", "AWS::APS::Workspace", "AWS::Grafana::Workspace", LOG_GROUP}
)
"""Types whose loss is a loss of data, or, of a key, of what it encrypted."""
KEEPS = ("Retain", "RetainExceptOnCreate")
"""Policies of deletion and replacement under which a resource outlives its stack."""
INLINE_BYTES = 51_200
"""Larger templates go through a bucket (CloudFormation user guide, "Understand CloudFormation quotas")."""


def noun(type_name: str) -> str:
    """``file system`` for ``AWS::FSx::FileSystem``."""
    return NOUNS.get(type_name, type_name)
