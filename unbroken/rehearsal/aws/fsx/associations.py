"""What FSx refuses of a data repository association (API reference, CreateDataRepositoryAssociation).

``No backups`` and the formats are from CreateFileSystemLustreConfiguration and the operation's model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws import environment, keys, shapes
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.execution_role import bucket_key, through_s3
from unbroken.rehearsal.aws.fsx.lustre import Wanted
from unbroken.rehearsal.aws.fsx.records import Association, FileSystem, FsxError
from unbroken.rehearsal.aws.permissions import Permissions

MOST = 8
"""Associations of one file system."""
LINKED_ROLE = "aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access"
KEY_USE = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey")
"""FSx for Lustre user guide, "Working with server-side encrypted Amazon S3 buckets"."""
OLD_LINK = ("AutoImportPolicy", "ExportPath", "ImportPath", "ImportedFileChunkSize")
"""The former way to link a bucket, which excludes associations."""


def check(
    request: Mapping[str, Any],
    file_system: FileSystem,
    others: Sequence[Association],
    clients: Clients,
    permissions: Permissions,
) -> None:
    """Raise FsxError with the first problem; ``others`` are the file system's associations so far."""
    for problem in _problems(request, file_system, others):
        raise FsxError("BadRequest", problem)
    bucket = str(request["DataRepositoryPath"]).removeprefix("s3://").split("/")[0]
    _check_bucket(str(request["DataRepositoryPath"]), bucket, clients)
    _check_key(bucket, file_system, clients, permissions)


def _problems(
    request: Mapping[str, Any], file_system: FileSystem, others: Sequence[Association]
) -> Iterator[str]:
    yield from shapes.problems("fsx", "CreateDataRepositoryAssociation", request)
    yield from _unfit(file_system)
    path = str(request["FileSystemPath"])
    if not path.startswith("/"):
        yield f"FileSystemPath must start with a slash: {path}"
    if len(others) >= MOST:
        yield f"A file system has at most {MOST} data repository associations."
    for other in others:
        if overlaps(other.path, path):
            yield f"FileSystemPath {path} overlaps with another association's {other.path}."
        if same(other.repository, str(request["DataRepositoryPath"])):
            yield f"DataRepositoryPath {other.repository} is another association's already."


def _unfit(file_system: FileSystem) -> Iterator[str]:
    """File systems that cannot be linked."""
    if file_system.kind != "LUSTRE":
        yield f"A {file_system.kind} file system has no data repository associations."
        return
    wanted = Wanted(file_system.request)
    if wanted.deployment == "SCRATCH_1" or wanted.version == "2.10":
        yield f"Data repository associations need Lustre 2.12 or 2.15, and not {wanted.deployment}."
    for name in (*OLD_LINK, "CopyTagsToBackups", "AutomaticBackupRetentionDays"):
        if wanted.lustre.get(name) not in (None, 0, False, "NONE"):
            yield f"{name} cannot be used on a file system with a data repository association."


def _check_bucket(repository: str, bucket: str, clients: Clients) -> None:
    try:
        clients.s3.head_bucket(Bucket=bucket)
    except ClientError as error:
        text = f"The bucket of DataRepositoryPath {repository} does not exist."
        raise FsxError("BadRequest", text) from error


def _check_key(bucket: str, system: FileSystem, clients: Clients, permissions: Permissions) -> None:
    """FSx's service-linked role, which takes no policy, can use the key of an encrypted bucket."""
    key = bucket_key(clients, bucket)
    if not key:
        return
    role = f"arn:aws:iam::{environment.ACCOUNT}:role/{LINKED_ROLE}_{system.file_system_id}"
    problem = keys.problem(clients, key) or permissions.key_problem(
        role, KEY_USE, key, through_s3(clients.region, bucket)
    )
    if problem:
        raise FsxError("BadRequest", f"Amazon FSx cannot use the bucket {bucket}: {problem}")


def overlaps(one: str, other: str) -> bool:
    """Whether one directory lies in the other."""
    first, second = (path.rstrip("/") + "/" for path in (one, other))
    return first.startswith(second) or second.startswith(first)


def same(one: str, other: str) -> bool:
    """Whether two repositories are one bucket and prefix."""
    return one.rstrip("/") == other.rstrip("/")
