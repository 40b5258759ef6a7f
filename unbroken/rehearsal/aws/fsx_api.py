"""The operations of the FSx API that are emulated; the state they show is in ``fsx.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.aws import environment, wire
from unbroken.rehearsal.aws.fsx import Association, FileSystem, Fsx, FsxError

TARGET_PREFIX = "AWSSimbaAPIService_v20180301."


class FsxApi:
    """Answers requests; called from several threads."""

    def __init__(self, fsx: Fsx) -> None:
        self.fsx = fsx

    def __call__(self, operation: str, body: bytes) -> wire.Answer:
        """Answer one request."""
        operations = {
            "DescribeFileSystems": self._file_systems,
            "DescribeDataRepositoryAssociations": self._associations,
            "DeleteFileSystem": self._delete_file_system,
            "DeleteDataRepositoryAssociation": self._delete_association,
        }
        if operation not in operations:
            return wire.unknown_operation("FSx", operation)
        try:
            return 200, operations[operation](json.loads(body or b"{}"))
        except FsxError as error:
            return wire.refusal(error.code, str(error))

    def _file_systems(self, body: Mapping[str, Any]) -> dict[str, Any]:
        wanted = body.get("FileSystemIds") or list(self.fsx.file_systems)
        missing = [file_system_id for file_system_id in wanted if file_system_id not in self.fsx.file_systems]
        if missing:
            raise FsxError("FileSystemNotFound", f"File system '{missing[0]}' does not exist.")
        return {"FileSystems": [self._view(self.fsx.file_systems[key]) for key in wanted]}

    def _view(self, file_system: FileSystem) -> dict[str, Any]:
        return {
            "OwnerId": environment.ACCOUNT,
            "CreationTime": file_system.created,
            "FileSystemId": file_system.file_system_id,
            "FileSystemType": "LUSTRE",
            "Lifecycle": "AVAILABLE",
            "StorageCapacity": file_system.capacity_gib,
            "StorageType": "SSD",
            "SubnetIds": [file_system.subnet_id],
            "NetworkInterfaceIds": [file_system.interface_id],
            "DNSName": file_system.dns_name,
            "ResourceARN": file_system.arn,
            "Tags": file_system.tags,
            "LustreConfiguration": {"MountName": file_system.mount_name, **_lustre_view(file_system.lustre)},
        }

    def _associations(self, body: Mapping[str, Any]) -> dict[str, Any]:
        wanted = body.get("AssociationIds") or list(self.fsx.associations)
        found = [self.fsx.associations[key] for key in wanted if key in self.fsx.associations]
        return {"Associations": [self._association_view(association) for association in found]}

    def _association_view(self, association: Association) -> dict[str, Any]:
        return {
            "AssociationId": association.association_id,
            "ResourceARN": association.arn(self.fsx.region),
            "FileSystemId": association.file_system_id,
            "Lifecycle": "AVAILABLE",
            "FileSystemPath": association.path,
            "DataRepositoryPath": association.repository,
            "S3": association.s3,
            "Tags": association.tags,
            "CreationTime": association.created,
        }

    def _delete_file_system(self, body: Mapping[str, Any]) -> dict[str, Any]:
        self.fsx.delete_file_system(body["FileSystemId"])
        return {"FileSystemId": body["FileSystemId"], "Lifecycle": "DELETING"}

    def _delete_association(self, body: Mapping[str, Any]) -> dict[str, Any]:
        self.fsx.delete_association(body["AssociationId"])
        return {"AssociationId": body["AssociationId"], "Lifecycle": "DELETING"}


def _lustre_view(lustre: Mapping[str, Any]) -> dict[str, Any]:
    shown = ("DeploymentType", "PerUnitStorageThroughput", "DataCompressionType")
    view = {key: lustre[key] for key in shown if key in lustre}
    if "PerUnitStorageThroughput" in view:
        view["PerUnitStorageThroughput"] = int(view["PerUnitStorageThroughput"])
    return view
