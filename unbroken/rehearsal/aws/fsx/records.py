"""What FSx keeps: file systems, associations, backups."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from unbroken.rehearsal.aws import environment

Tags = list[dict[str, str]]


class FsxError(ValueError):
    """A request FSx refuses; ``code`` is one of the operation's errors in the FSx API reference."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def new_id(prefix: str) -> str:
    """An id as FSx makes them."""
    return f"{prefix}-{uuid.uuid4().hex[:17]}"


def arn(region: str, resource: str) -> str:
    """The ARN of something of FSx."""
    return f"arn:aws:fsx:{region}:{environment.ACCOUNT}:{resource}"


@dataclass
class FileSystem:
    """One file system; sizes in GiB."""

    file_system_id: str
    kind: str
    """``LUSTRE`` or ``OPENZFS``."""
    region: str
    request: dict[str, Any]
    """What it was made from, with what an update changed since."""
    vpc_id: str
    interface_id: str
    mount_name: str = ""
    """Of Lustre only."""
    tags: Tags = field(default_factory=list)
    created: float = field(default_factory=time.time)

    @property
    def dns_name(self) -> str:
        """By which clients reach it."""
        return f"{self.file_system_id}.fsx.{self.region}.amazonaws.com"

    @property
    def root_volume_id(self) -> str:
        """Of OpenZFS only."""
        return f"fsvol-{self.file_system_id.removeprefix('fs-')}"

    @property
    def capacity_gib(self) -> int:
        """Its size; 0 where it grows by itself."""
        return int(self.request.get("StorageCapacity", 0))

    @property
    def configuration(self) -> dict[str, Any]:
        """The part of the request that is its type's own."""
        return dict(self.request.get(CONFIGURATIONS[self.kind], {}))

    @property
    def arn(self) -> str:
        """Its ARN."""
        return arn(self.region, f"file-system/{self.file_system_id}")


CONFIGURATIONS = {"LUSTRE": "LustreConfiguration", "OPENZFS": "OpenZFSConfiguration"}
"""The member of a request that holds a type's own settings; other types are not emulated."""


@dataclass
class Association:
    """One data repository association."""

    association_id: str
    file_system_id: str
    path: str
    repository: str
    s3: dict[str, Any]
    tags: Tags
    created: float = field(default_factory=time.time)

    def arn(self, region: str) -> str:
        """Its ARN."""
        return arn(region, f"association/{self.file_system_id}/{self.association_id}")

    @property
    def exports(self) -> bool:
        """Whether changes on the file system go to the bucket by themselves."""
        return bool(self.s3.get("AutoExportPolicy", {}).get("Events"))


@dataclass(frozen=True)
class Backup:
    """What is left of a deleted file system."""

    backup_id: str
    of: FileSystem
    created: float = field(default_factory=time.time)
