"""FSx file systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.aws.session import AwsError, Session


@dataclass(frozen=True)
class FileSystem:
    """A file system of any kind."""

    file_system_id: str
    kind: str
    """LUSTRE, OPENZFS, ..."""
    state: str
    """AVAILABLE, CREATING, FAILED, DELETING, MISCONFIGURED, UPDATING, ..."""
    deployment_type: str
    version: str
    storage_type: str
    capacity_gib: int
    vpc_id: str
    subnets: tuple[str, ...]
    interfaces: tuple[str, ...]
    dns_name: str
    mount_name: str
    """Lustre only."""
    tags: Mapping[str, str]


@dataclass(frozen=True)
class Association:
    """A data repository association: a folder of a file system that mirrors a bucket."""

    association_id: str
    path: str
    repository: str
    """``s3://bucket/prefix``."""
    exports: bool
    """Whether changes in the file system reach the bucket by themselves."""


class Fsx:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def file_system(self, file_system_id: str) -> FileSystem | None:
        """A file system by its id; None where there is none."""
        try:
            found = self._session.ask(
                "fsx",
                "describe_file_systems",
                f"file system {file_system_id}",
                FileSystemIds=[file_system_id],
            )
        except AwsError as error:
            if error.is_("FileSystemNotFound"):
                return None
            raise
        return _file_system(found["FileSystems"][0]) if found["FileSystems"] else None

    def file_systems(self) -> list[FileSystem]:
        """All file systems of the region."""
        found = self._session.ask_all("fsx", "describe_file_systems", "FileSystems", "file systems")
        return [_file_system(one) for one in found]

    def associations(self, file_system_id: str) -> list[Association]:
        """The links of a Lustre file system to buckets."""
        about = f"links of file system {file_system_id}"
        filters = [{"Name": "file-system-id", "Values": [file_system_id]}]
        found: list[dict[str, Any]] = []
        token: dict[str, str] = {}
        while True:  # botocore has no paginator for it
            page = self._session.ask(
                "fsx", "describe_data_repository_associations", about, Filters=filters, **token
            )
            found += page["Associations"]
            if not page.get("NextToken"):
                break
            token = {"NextToken": page["NextToken"]}
        return [_association(one) for one in found]

    def backups(self, file_system_id: str) -> list[str]:
        """Ids of the backups of a file system, also of one that is gone."""
        filters = [{"Name": "file-system-id", "Values": [file_system_id]}]
        about = f"backups of file system {file_system_id}"
        found = self._session.ask_all("fsx", "describe_backups", "Backups", about, Filters=filters)
        return [str(one["BackupId"]) for one in found]

    def delete_backup(self, backup_id: str) -> None:
        """Delete a backup."""
        self._session.ask("fsx", "delete_backup", f"backup {backup_id}", BackupId=backup_id)

    def delete_openzfs(self, file_system_id: str) -> None:
        """Ask for the end of an OpenZFS file system with all it holds, without FSx's usual final backup."""
        self._session.ask(
            "fsx",
            "delete_file_system",
            f"file system {file_system_id}",
            FileSystemId=file_system_id,
            OpenZFSConfiguration={
                "SkipFinalBackup": True,
                "Options": ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"],
            },
        )


def _association(found: Mapping[str, Any]) -> Association:
    exported = found.get("S3", {}).get("AutoExportPolicy", {}).get("Events", ())
    return Association(
        found["AssociationId"], found["FileSystemPath"], found["DataRepositoryPath"], bool(exported)
    )


def _file_system(found: Mapping[str, Any]) -> FileSystem:
    lustre, zfs = found.get("LustreConfiguration", {}), found.get("OpenZFSConfiguration", {})
    return FileSystem(
        file_system_id=found["FileSystemId"],
        kind=found["FileSystemType"],
        state=found.get("Lifecycle", ""),
        deployment_type=lustre.get("DeploymentType") or zfs.get("DeploymentType", ""),
        version=found.get("FileSystemTypeVersion", ""),
        storage_type=found.get("StorageType", ""),
        capacity_gib=found.get("StorageCapacity", 0),
        vpc_id=found.get("VpcId", ""),
        subnets=tuple(found.get("SubnetIds", ())),
        interfaces=tuple(found.get("NetworkInterfaceIds", ())),
        dns_name=found.get("DNSName", ""),
        mount_name=lustre.get("MountName", ""),
        tags={tag["Key"]: tag["Value"] for tag in found.get("Tags", ())},
    )
