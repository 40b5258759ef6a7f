"""What HyperPod does with a group's execution role, held to the role's policies.

Sources: SageMaker developer guide, "IAM role for SageMaker HyperPod" (logs, bundle; with a VPC of one's own
the network interfaces) and "Create an IAM role for HyperPod autoscaling" (how keys of volumes are used).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws import environment, keys
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.permissions import Permissions, Principal
from unbroken.rehearsal.hyperpod.machines import AccessDenied, NotFound

SESSION = "SageMaker"
"""Session name under which the host agent acts for the role; our choice, AWS's is not public."""
LOOKS = ("DescribeDhcpOptions", "DescribeNetworkInterfaces", "DescribeSecurityGroups", "DescribeSubnets",
         "DescribeVpcs")  # fmt: skip
GRANTED = ("CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom",
           "ReEncryptTo")  # fmt: skip
NOTHING: Mapping[str, Any] = {}


class ExecutionRole:
    """Asks IAM on behalf of a role. Every method raises AccessDenied, which names action and resource."""

    def __init__(self, clients: Clients, permissions: Permissions) -> None:
        self.clients = clients
        self.permissions = permissions

    def allow(self, role: str, action: str, resource: str, context: Mapping[str, Any] = NOTHING) -> None:
        """The role may do this."""
        denial = self.permissions.check(Principal(role, SESSION), action, resource, context)
        if denial is not None:
            raise AccessDenied(denial.message)

    def make_interface(self, role: str, subnet_id: str, group_ids: Sequence[str]) -> None:
        """Put an interface into a subnet and its groups, and lend it to the service."""
        interface, subnet = self._arn("ec2", "network-interface/*"), self._arn("ec2", f"subnet/{subnet_id}")
        for look in LOOKS:
            self.allow(role, f"ec2:{look}", "*")
        groups = [self._arn("ec2", f"security-group/{group_id}") for group_id in group_ids]
        where = {"ec2:Subnet": subnet}
        for resource in (interface, subnet, *groups):
            self.allow(role, "ec2:CreateNetworkInterface", resource, where)
        for action in ("CreateNetworkInterfacePermission", "CreateTags"):
            self.allow(role, f"ec2:{action}", interface, where)

    def make_log_group(self, role: str, group: str) -> None:
        """Make a log group."""
        self.allow(role, "logs:CreateLogGroup", self._arn("logs", f"log-group:{group}"))

    def write_log(self, role: str, group: str, stream: str) -> None:
        """Make a stream and write to it."""
        resource = self._arn("logs", f"log-group:{group}:log-stream:{stream}")
        for action in ("CreateLogStream", "PutLogEvents"):
            self.allow(role, f"logs:{action}", resource)

    def encrypt_volume(self, role: str, key_id: str) -> None:
        """Let EBS use a key for a volume; raises NotFound for one that cannot be used."""
        problem = keys.problem(self.clients, key_id)
        if problem:
            raise NotFound(problem)
        context = {
            "kms:ViaService": f"sagemaker.{self.clients.region}.amazonaws.com",
            "kms:GrantIsForAWSResource": "true",
            "kms:GrantOperations": list(GRANTED),
        }
        self.allow(role, "kms:CreateGrant", key_arn(self.clients, key_id), context)

    def read_object(self, role: str, bucket: str, key: str) -> None:
        """Get an object, and open it where the bucket encrypts with a key of one's own."""
        self.allow(role, "s3:GetObject", f"arn:aws:s3:::{bucket}/{key}")
        kms_key = bucket_key(self.clients, bucket)
        if kms_key:
            problem = keys.problem(self.clients, kms_key)
            if problem:
                raise AccessDenied(f"s3://{bucket}/{key} cannot be read: {problem}")
            self.allow(role, "kms:Decrypt", kms_key, through_s3(self.clients.region, bucket))

    def _arn(self, service: str, resource: str) -> str:
        return f"arn:aws:{service}:{self.clients.region}:{environment.ACCOUNT}:{resource}"


def bucket_key(clients: Clients, bucket: str) -> str:
    """The ARN of the KMS key that a bucket encrypts with by default; empty where it is S3's own."""
    try:
        answer = clients.s3.get_bucket_encryption(Bucket=bucket)
    except ClientError:
        return ""
    for rule in answer["ServerSideEncryptionConfiguration"]["Rules"]:
        default = rule.get("ApplyServerSideEncryptionByDefault", {})
        if default.get("SSEAlgorithm", "").startswith("aws:kms"):
            return key_arn(clients, str(default.get("KMSMasterKeyID", "")))
    return ""


def key_arn(clients: Clients, key: str) -> str:
    """The ARN of a key given by its id, its ARN or an alias; as it is where there is no such key."""
    try:
        return str(clients.of("kms").describe_key(KeyId=key)["KeyMetadata"]["Arn"]) if key else ""
    except ClientError:
        return key


def through_s3(region: str, bucket: str) -> dict[str, str]:
    """The condition keys of a call that S3 makes to KMS for somebody, with a bucket key."""
    return {
        "kms:ViaService": f"s3.{region}.amazonaws.com",
        "kms:EncryptionContext:aws:s3:arn": f"arn:aws:s3:::{bucket}",
    }
