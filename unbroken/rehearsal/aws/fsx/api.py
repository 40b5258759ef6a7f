"""The operations of the FSx API that are emulated; the state they show is in ``service.py``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from unbroken.rehearsal.aws import wire
from unbroken.rehearsal.aws.fsx import views
from unbroken.rehearsal.aws.fsx.records import CONFIGURATIONS, FsxError
from unbroken.rehearsal.aws.fsx.service import Fsx

TARGET_PREFIX = "AWSSimbaAPIService_v20180301."

Body = Mapping[str, Any]


class FsxApi:
    """Answers requests; called from several threads."""

    def __init__(self, fsx: Fsx) -> None:
        self.fsx = fsx
        self._operations: dict[str, Callable[[Body], dict[str, Any]]] = {
            "CreateFileSystem": self._create_file_system,
            "DescribeFileSystems": self._file_systems,
            "DeleteFileSystem": self._delete_file_system,
            "DescribeDataRepositoryAssociations": self._associations,
            "DeleteDataRepositoryAssociation": self._delete_association,
            "DescribeBackups": self._backups,
            "DeleteBackup": self._delete_backup,
        }

    def __call__(self, operation: str, body: bytes) -> wire.Answer:
        """Answer one request."""
        if operation not in self._operations:
            return wire.unknown_operation("FSx", operation)
        try:
            return 200, self._operations[operation](json.loads(body or b"{}"))
        except FsxError as error:
            return wire.refusal(error.code, str(error))

    def _create_file_system(self, body: Body) -> dict[str, Any]:
        request = {name: value for name, value in body.items() if name != "ClientRequestToken"}
        return {"FileSystem": views.file_system(self.fsx.create_file_system(request))}

    def _file_systems(self, body: Body) -> dict[str, Any]:
        wanted = body.get("FileSystemIds") or list(self.fsx.file_systems)
        return {"FileSystems": [views.file_system(self.fsx.file_system(key)) for key in wanted]}

    def _delete_file_system(self, body: Body) -> dict[str, Any]:
        kind = self.fsx.file_system(body["FileSystemId"]).kind
        own = CONFIGURATIONS[kind]
        for name in body:
            if name.endswith("Configuration") and name != own:
                raise FsxError("BadRequest", f"{name} cannot be applied to delete a {kind} file system.")
        backup = self.fsx.delete_file_system(body["FileSystemId"], body.get(own, {}))
        response = own.replace("Configuration", "Response")
        left = {response: {"FinalBackupId": backup.backup_id}} if backup else {}
        return {"FileSystemId": body["FileSystemId"], "Lifecycle": "DELETING", **left}

    def _associations(self, body: Body) -> dict[str, Any]:
        known = self.fsx.associations
        wanted = body.get("AssociationIds") or list(known)
        missing = [key for key in wanted if key not in known]
        if missing:
            raise FsxError("DataRepositoryAssociationNotFound", f"'{missing[0]}' does not exist.")
        systems = _selected(body)
        found = [known[key] for key in wanted if not systems or known[key].file_system_id in systems]
        return {"Associations": [views.association(one, self.fsx.region) for one in found]}

    def _delete_association(self, body: Body) -> dict[str, Any]:
        self.fsx.delete_association(body["AssociationId"])
        return {"AssociationId": body["AssociationId"], "Lifecycle": "DELETING"}

    def _backups(self, body: Body) -> dict[str, Any]:
        known = self.fsx.backups
        wanted, systems = body.get("BackupIds") or list(known), _selected(body)
        missing = [key for key in wanted if key not in known]
        if missing:
            raise FsxError("BackupNotFound", f"Backup '{missing[0]}' does not exist.")
        found = [known[key] for key in wanted if not systems or known[key].of.file_system_id in systems]
        return {"Backups": [views.backup(one) for one in found]}

    def _delete_backup(self, body: Body) -> dict[str, Any]:
        self.fsx.delete_backup(body["BackupId"])
        return {"BackupId": body["BackupId"], "Lifecycle": "DELETED"}


def _selected(body: Body) -> set[str]:
    """The file systems that the filters name; all where none does."""
    filters: Iterable[Mapping[str, Any]] = body.get("Filters", ())
    for one in filters:
        if one["Name"] != "file-system-id":
            raise FsxError("BadRequest", f"the filter {one['Name']} is not part of the embedded AWS")
    return {value for one in filters for value in one["Values"]}
