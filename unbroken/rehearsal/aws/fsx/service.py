"""FSx's state, and what it makes and deletes. API: ``api.py``; CloudFormation's types: ``resources.py``."""

from __future__ import annotations

import random
import string
import threading
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws import keys, shapes
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.fsx import associations, lustre, openzfs
from unbroken.rehearsal.aws.fsx.records import (
    CONFIGURATIONS,
    Association,
    Backup,
    FileSystem,
    FsxError,
    new_id,
)
from unbroken.rehearsal.aws.permissions import Permissions

CHECKS: dict[str, Callable[[Mapping[str, Any]], None]] = {"LUSTRE": lustre.check, "OPENZFS": openzfs.check}
SUBNETS = 1
"""Every type emulated here lies in one subnet."""


class Fsx:
    """The service's state. Methods may be called from several threads."""

    def __init__(self, clients: Clients, permissions: Permissions) -> None:
        self.clients = clients
        self.permissions = permissions
        self.region = clients.region
        self.file_systems: dict[str, FileSystem] = {}
        self.associations: dict[str, Association] = {}
        self.backups: dict[str, Backup] = {}
        self.export_age_seconds = 0.0
        """A setting: the age of the oldest change that has not reached its bucket yet."""
        self._lock = threading.Lock()

    def create_file_system(self, request: Mapping[str, Any], file_system_id: str = "") -> FileSystem:
        """A file system with an interface in its subnet, which keeps the subnet from being deleted.

        Its id is a new one unless one is given.
        """
        self._check(request)
        file_system_id, [subnet_id] = file_system_id or new_id("fs"), request["SubnetIds"]
        kind = str(request["FileSystemType"])
        interface = self._interface(file_system_id, subnet_id, request.get("SecurityGroupIds", []))
        made = FileSystem(
            file_system_id=file_system_id,
            kind=kind,
            region=self.region,
            request=dict(request),
            vpc_id=interface["VpcId"],
            interface_id=interface["NetworkInterfaceId"],
            mount_name=_mount_name() if kind == "LUSTRE" else "",
            tags=list(request.get("Tags", [])),
        )
        with self._lock:
            self.file_systems[file_system_id] = made
        return made

    def _check(self, request: Mapping[str, Any]) -> None:
        kind = request.get("FileSystemType")
        if kind not in CHECKS:
            raise FsxError("BadRequest", f"FileSystemType {kind} is not emulated.")
        for problem in shapes.problems("fsx", "CreateFileSystem", request):
            raise FsxError("BadRequest", problem)
        if len(request["SubnetIds"]) != SUBNETS:
            raise FsxError("InvalidNetworkSettings", f"This {kind} file system takes exactly one subnet.")
        CHECKS[kind](request)
        problem = keys.problem(self.clients, request.get("KmsKeyId"))
        if problem:
            raise FsxError("BadRequest", problem)

    def _interface(self, file_system_id: str, subnet_id: str, groups: list[str]) -> dict[str, Any]:
        try:
            answer = self.clients.ec2.create_network_interface(
                SubnetId=subnet_id,
                Groups=groups,
                Description=f"Interface for FSx file system {file_system_id}",
            )
        except ClientError as error:
            raise FsxError("InvalidNetworkSettings", str(error)) from error
        made: dict[str, Any] = answer["NetworkInterface"]
        return made

    def update_file_system(self, file_system_id: str, request: Mapping[str, Any]) -> FileSystem:
        """Change it in place to what ``request``, a whole CreateFileSystem, says."""
        found = self.file_system(file_system_id)
        self._check(request)
        self._check_change(found, request)
        found.request = dict(request)
        found.tags = list(request.get("Tags", []))
        return found

    @staticmethod
    def _check_change(found: FileSystem, wanted: Mapping[str, Any]) -> None:
        if int(wanted.get("StorageCapacity", 0)) < found.capacity_gib:
            raise FsxError("BadRequest", "StorageCapacity cannot be decreased.")
        fixed = ("DeploymentType", "EfaEnabled", "DriveCacheType")
        before, after = found.configuration, wanted.get(CONFIGURATIONS[found.kind], {})
        for name in fixed:
            if before.get(name) != after.get(name):
                raise FsxError("BadRequest", f"{name} of a file system cannot be changed.")
        if found.request.get("StorageType", "SSD") != wanted.get("StorageType", "SSD"):
            raise FsxError("BadRequest", "StorageType of a file system cannot be changed.")

    def file_system(self, file_system_id: str) -> FileSystem:
        """The file system; raises FsxError where there is none."""
        found = self.file_systems.get(file_system_id)
        if found is None:
            raise FsxError("FileSystemNotFound", f"File system '{file_system_id}' does not exist.")
        return found

    def delete_file_system(self, file_system_id: str, configuration: Mapping[str, Any]) -> Backup | None:
        """Delete it with its associations, its automatic backups and its interface.

        ``configuration`` is the type's part of the request; without SkipFinalBackup, OpenZFS leaves a backup
        behind and Lustre does not (API reference, DeleteFileSystem).
        """
        gone = self.file_system(file_system_id)
        with self._lock:
            del self.file_systems[file_system_id]
            self.associations = {
                key: one for key, one in self.associations.items() if one.file_system_id != file_system_id
            }
        self.clients.ec2.delete_network_interface(NetworkInterfaceId=gone.interface_id)
        if configuration.get("SkipFinalBackup", gone.kind == "LUSTRE"):
            return None
        backup = Backup(new_id("backup"), gone)
        self.backups[backup.backup_id] = backup
        return backup

    def delete_backup(self, backup_id: str) -> None:
        """Delete a backup."""
        if self.backups.pop(backup_id, None) is None:
            raise FsxError("BackupNotFound", f"Backup '{backup_id}' does not exist.")

    def create_association(self, request: Mapping[str, Any]) -> Association:
        """Link a directory of a file system to a bucket's prefix."""
        file_system = self.file_system(request["FileSystemId"])
        with self._lock:
            others = [o for o in self.associations.values() if o.file_system_id == file_system.file_system_id]
        associations.check(request, file_system, others, self.clients, self.permissions)
        made = Association(
            association_id=new_id("dra"),
            file_system_id=request["FileSystemId"],
            path=request["FileSystemPath"],
            repository=request["DataRepositoryPath"],
            s3=dict(request.get("S3", {})),
            tags=list(request.get("Tags", [])),
        )
        with self._lock:
            self.associations[made.association_id] = made
        return made

    def delete_association(self, association_id: str) -> None:
        """Unlink; files and objects stay where they are."""
        with self._lock:
            gone = self.associations.pop(association_id, None)
        if gone is None:
            raise FsxError("DataRepositoryAssociationNotFound", f"'{association_id}' does not exist.")


def _mount_name() -> str:
    return "".join(random.choices(string.ascii_lowercase + "234567", k=8))  # noqa: S311  (a name)
