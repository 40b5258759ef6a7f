"""What outlives a cluster on purpose, and the commands that remove it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unbroken.catalog.cloudformation import BUCKET, FILE_SYSTEM, LOG_GROUP, SECURITY_GROUP, noun
from unbroken.ops.down.parts import Part


@dataclass(frozen=True)
class Stay:
    """Something that is there after `down`."""

    kind: str
    type_name: str
    """CloudFormation's name of its type."""
    identity: str
    why: str
    remove: tuple[str, ...]
    """Commands that remove it, in order."""


Commands = Callable[[str], Sequence[str]]


def _bucket(name: str) -> Sequence[str]:
    versions = "{Objects: [Versions,DeleteMarkers][][].{Key:Key,VersionId:VersionId}}"
    listed = f"aws s3api list-object-versions --bucket {name} --max-items 1000 --output json"
    return (
        f"aws s3api delete-objects --bucket {name} --delete \"$({listed} --query '{versions}')\"  "
        "# again until the bucket is empty",
        f"aws s3api delete-bucket --bucket {name}",
    )


def _last(arn: str) -> str:
    return arn.rpartition("/")[2]


# In the order in which they can be removed: what has an interface before the group and the subnet it is in.
_REMOVE: dict[str, Commands] = {
    FILE_SYSTEM: lambda i: [f"aws fsx delete-file-system --file-system-id {i}"],
    BUCKET: _bucket,
    "AWS::APS::Workspace": lambda i: [f"aws amp delete-workspace --workspace-id {_last(i)}"],
    "AWS::Grafana::Workspace": lambda i: [f"aws grafana delete-workspace --workspace-id {_last(i)}"],
    LOG_GROUP: lambda i: [f"aws logs delete-log-group --log-group-name {i}"],
    SECURITY_GROUP: lambda i: [f"aws ec2 delete-security-group --group-id {i}"],
    "AWS::EC2::Subnet": lambda i: [f"aws ec2 delete-subnet --subnet-id {i}"],
    "AWS::EC2::VPC": lambda i: [f"aws ec2 delete-vpc --vpc-id {i}"],
    "AWS::KMS::Key": lambda i: [f"aws kms schedule-key-deletion --key-id {i} --pending-window-in-days 30"],
}
# They go with what they belong to.
_BELONGINGS = (
    "AWS::S3::BucketPolicy",
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::VPCCidrBlock",
    "AWS::KMS::Alias",
)


def stays(parts: Sequence[Part], region: str) -> list[Stay]:
    """What the stacks leave when they go, in the order in which it can be removed."""
    kept = [resource for part in parts for resource in part.kept()]
    found = [
        stay(resource.type_name, resource.physical_id, region, "the cluster file keeps it")
        for resource in kept
        if resource.type_name not in _BELONGINGS
    ]
    order = list(_REMOVE)
    return sorted(found, key=lambda one: order.index(one.type_name) if one.type_name in order else len(order))


def stay(type_name: str, identity: str, region: str, why: str) -> Stay:
    """Something that stays, with the commands that remove it; none where this version knows none."""
    commands = _REMOVE[type_name](identity) if type_name in _REMOVE else ()
    remove = tuple(_in_region(line, region) for line in commands)
    return Stay(noun(type_name), type_name, identity, why, remove)


def _in_region(command: str, region: str) -> str:
    head, hash_, comment = command.partition("  # ")
    return f"{head} --region {region}{hash_}{comment}"
