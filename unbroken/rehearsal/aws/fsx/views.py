"""FSx's records in the shapes of its API."""

from __future__ import annotations

from typing import Any

from unbroken.rehearsal.aws import environment, shapes
from unbroken.rehearsal.aws.fsx.lustre import Wanted
from unbroken.rehearsal.aws.fsx.records import CONFIGURATIONS, Association, Backup, FileSystem, arn


def file_system(made: FileSystem) -> dict[str, Any]:
    """A FileSystem."""
    request = shapes.as_request("fsx", "CreateFileSystem", made.request)
    known = ("StorageCapacity", "KmsKeyId", "SubnetIds")
    view = {name: request[name] for name in known if name in request}
    view |= {
        "OwnerId": environment.ACCOUNT,
        "CreationTime": made.created,
        "FileSystemId": made.file_system_id,
        "FileSystemType": made.kind,
        "Lifecycle": "AVAILABLE",
        "StorageType": request.get("StorageType", "SSD"),
        "VpcId": made.vpc_id,
        "NetworkInterfaceIds": [made.interface_id],
        "DNSName": made.dns_name,
        "ResourceARN": made.arn,
        CONFIGURATIONS[made.kind]: _configuration(made, request),
    }
    view |= {"Tags": made.tags} if made.tags else {}
    return view | ({"FileSystemTypeVersion": Wanted(request).version} if made.kind == "LUSTRE" else {})


def _configuration(made: FileSystem, request: dict[str, Any]) -> dict[str, Any]:
    """The settings it was asked for, as far as the answer has them, and those that FSx adds."""
    given = request.get(CONFIGURATIONS[made.kind], {})
    answered = shapes.output_shape("fsx", "DescribeFileSystems").members["FileSystems"].member
    members = answered.members[CONFIGURATIONS[made.kind]].members
    view = {name: value for name, value in given.items() if name in members}
    if made.kind == "LUSTRE":
        return {"DeploymentType": "SCRATCH_1", **view, "MountName": made.mount_name}
    return {"AutomaticBackupRetentionDays": 30, **view, "RootVolumeId": made.root_volume_id}


def association(made: Association, region: str) -> dict[str, Any]:
    """A DataRepositoryAssociation."""
    view = {
        "AssociationId": made.association_id,
        "ResourceARN": made.arn(region),
        "FileSystemId": made.file_system_id,
        "Lifecycle": "AVAILABLE",
        "FileSystemPath": made.path,
        "DataRepositoryPath": made.repository,
        "S3": made.s3,
        "CreationTime": made.created,
    }
    return view | ({"Tags": made.tags} if made.tags else {})


def backup(made: Backup) -> dict[str, Any]:
    """A Backup; the file system in it is the one that was."""
    return {
        "BackupId": made.backup_id,
        "Lifecycle": "AVAILABLE",
        "Type": "USER_INITIATED",
        "ProgressPercent": 100,
        "CreationTime": made.created,
        "ResourceARN": arn(made.of.region, f"backup/{made.backup_id}"),
        "OwnerId": environment.ACCOUNT,
        "FileSystem": file_system(made.of),
    }
