"""Amazon FSx for Lustre: file systems and data repository associations, and the rules FSx holds them to.

The files themselves are the nodes' business (``unbroken.rehearsal.nodes``); here is the control plane only.
The rules are those of the FSx API reference and of the CloudFormation resource's documentation, since the
CloudFormation schema states none of them. The API is in ``fsx_api.py``, CloudFormation's two types in
``fsx_resources.py``.
"""

from __future__ import annotations

import random
import string
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws import environment
from unbroken.rehearsal.aws.clients import Clients

THROUGHPUT = {
    ("PERSISTENT_1", "SSD"): (50, 100, 200),
    ("PERSISTENT_1", "HDD"): (12, 40),
    ("PERSISTENT_2", "SSD"): (125, 250, 500, 1000),
}
"""MB/s per TiB by deployment and storage type (FSx API reference, PerUnitStorageThroughput)."""


class FsxError(ValueError):
    """A request FSx refuses."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class FileSystem:
    """One Lustre file system; sizes in GiB."""

    file_system_id: str
    dns_name: str
    mount_name: str
    capacity_gib: int
    subnet_id: str
    interface_id: str
    lustre: dict[str, Any]
    tags: list[dict[str, str]]
    created: float = field(default_factory=time.time)

    @property
    def arn(self) -> str:
        """Its ARN; the region is part of the DNS name."""
        region = self.dns_name.split(".")[2]
        return f"arn:aws:fsx:{region}:{environment.ACCOUNT}:file-system/{self.file_system_id}"


@dataclass
class Association:
    """One data repository association."""

    association_id: str
    file_system_id: str
    path: str
    repository: str
    s3: dict[str, Any]
    tags: list[dict[str, str]]
    created: float = field(default_factory=time.time)

    def arn(self, region: str) -> str:
        """Its ARN."""
        where = f"{self.file_system_id}/{self.association_id}"
        return f"arn:aws:fsx:{region}:{environment.ACCOUNT}:association/{where}"


class Fsx:
    """The service's state. Methods may be called from several threads."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        self.region = clients.region
        self.file_systems: dict[str, FileSystem] = {}
        self.associations: dict[str, Association] = {}
        self._lock = threading.Lock()

    def create_file_system(self, request: Mapping[str, Any]) -> FileSystem:
        """A file system with an interface in its subnet, which keeps the subnet from being deleted."""
        check_file_system(request)
        file_system_id = f"fs-{uuid.uuid4().hex[:17]}"
        subnet_id = request["SubnetIds"][0]
        made = FileSystem(
            file_system_id=file_system_id,
            dns_name=f"{file_system_id}.fsx.{self.region}.amazonaws.com",
            mount_name="".join(random.choices(string.ascii_lowercase + "234567", k=8)),  # noqa: S311  (a name)
            capacity_gib=int(request["StorageCapacity"]),
            subnet_id=subnet_id,
            interface_id=self._interface(file_system_id, subnet_id, request.get("SecurityGroupIds", [])),
            lustre=dict(request.get("LustreConfiguration", {})),
            tags=list(request.get("Tags", [])),
        )
        with self._lock:
            self.file_systems[file_system_id] = made
        return made

    def _interface(self, file_system_id: str, subnet_id: str, groups: list[str]) -> str:
        try:
            answer = self.clients.ec2.create_network_interface(
                SubnetId=subnet_id,
                Groups=groups,
                Description=f"Interface for FSx file system {file_system_id}",
            )
        except ClientError as error:
            raise FsxError("InvalidNetworkSettings", str(error)) from error
        return str(answer["NetworkInterface"]["NetworkInterfaceId"])

    def delete_file_system(self, file_system_id: str) -> None:
        """Delete it with its associations and its interface."""
        with self._lock:
            gone = self.file_systems.pop(file_system_id, None)
            self.associations = {
                key: value
                for key, value in self.associations.items()
                if value.file_system_id != file_system_id
            }
        if gone is None:
            raise FsxError("FileSystemNotFound", f"File system '{file_system_id}' does not exist.")
        self.clients.ec2.delete_network_interface(NetworkInterfaceId=gone.interface_id)

    def create_association(self, request: Mapping[str, Any]) -> Association:
        """Link a directory of a file system to a bucket's prefix."""
        self._check_association(request)
        made = Association(
            association_id=f"dra-{uuid.uuid4().hex[:17]}",
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

    def _check_association(self, request: Mapping[str, Any]) -> None:
        file_system = self.file_systems.get(request["FileSystemId"])
        if file_system is None:
            raise FsxError("FileSystemNotFound", f"File system '{request['FileSystemId']}' does not exist.")
        clash = {"ImportPath", "ExportPath", "AutoImportPolicy", "ImportedFileChunkSize"} & set(
            file_system.lustre
        )
        if clash:
            text = f"{sorted(clash)[0]} cannot be used on a file system with a data repository association."
            raise FsxError("BadRequest", text)
        self._check_paths(request)

    def _check_paths(self, request: Mapping[str, Any]) -> None:
        path, repository = str(request["FileSystemPath"]), str(request["DataRepositoryPath"])
        if not path.startswith("/"):
            raise FsxError("BadRequest", f"FileSystemPath must start with a slash: {path}")
        if any(
            other.file_system_id == request["FileSystemId"] and overlaps(other.path, path)
            for other in self.associations.values()
        ):
            raise FsxError("BadRequest", f"FileSystemPath {path} overlaps with another association's.")
        self._check_bucket(repository)

    def _check_bucket(self, repository: str) -> None:
        bucket = repository.removeprefix("s3://").split("/")[0]
        try:
            self.clients.s3.head_bucket(Bucket=bucket)
        except ClientError as error:
            raise FsxError(
                "BadRequest", f"The bucket of DataRepositoryPath {repository} does not exist."
            ) from error


def overlaps(one: str, other: str) -> bool:
    """Whether one directory lies in the other."""
    first, second = (path.rstrip("/") + "/" for path in (one, other))
    return first.startswith(second) or second.startswith(first)


def check_file_system(request: Mapping[str, Any]) -> None:
    """What FSx itself refuses; raises FsxError."""
    if request.get("FileSystemType") != "LUSTRE":
        raise FsxError(
            "BadRequest", f"FileSystemType {request.get('FileSystemType')} is not emulated, only LUSTRE."
        )
    if len(request["SubnetIds"]) != 1:
        raise FsxError("InvalidNetworkSettings", "A Lustre file system takes exactly one subnet.")
    lustre = request.get("LustreConfiguration", {})
    deployment, storage = lustre.get("DeploymentType", "SCRATCH_1"), request.get("StorageType", "SSD")
    _check_capacity(int(request.get("StorageCapacity", 0)), deployment, storage)
    _check_throughput(lustre.get("PerUnitStorageThroughput"), deployment, storage)
    if deployment == "PERSISTENT_2" and request.get("FileSystemTypeVersion", "2.15") == "2.10":
        raise FsxError(
            "BadRequest", "FileSystemTypeVersion 2.10 does not go with PERSISTENT_2; use 2.12 or 2.15."
        )


def _check_capacity(gib: int, deployment: str, storage: str) -> None:
    if storage == "HDD":
        return
    step = 3600 if deployment == "SCRATCH_1" else 2400
    if gib != 1200 and (gib <= 0 or gib % step) and gib != 2400:
        text = (
            f"StorageCapacity {gib} is invalid for {deployment}: use 1200, 2400 or a multiple of {step} GiB."
        )
        raise FsxError("BadRequest", text)


def _check_throughput(value: object, deployment: str, storage: str) -> None:
    allowed = THROUGHPUT.get((deployment, storage))
    if allowed is None:
        if value is not None:
            raise FsxError("BadRequest", f"PerUnitStorageThroughput does not go with {deployment}.")
    elif value is None or int(str(value)) not in allowed:
        text = (
            f"PerUnitStorageThroughput {value} is invalid for {deployment} {storage}: use one of {allowed}."
        )
        raise FsxError("BadRequest", text)
