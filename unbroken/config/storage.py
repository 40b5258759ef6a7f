"""The cluster file's ``storage`` section: the FSx for Lustre file system and the buckets linked to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from unbroken.config import lustre_rules
from unbroken.config.fields import DnsName, MountPath, SharedPath
from unbroken.config.home import FileSystemId
from unbroken.config.section import Fault, Section, refusal

Events = Annotated[list[Literal["NEW", "CHANGED", "DELETED"]], Field(max_length=3)]


def _bucket(value: str | None) -> str | None:
    if value is not None and (
        not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", value)
        or ".." in value
        or re.fullmatch(r"[\d.]+", value)
    ):
        raise refusal("is not a bucket's name", "write the name alone, such as my-data")
    return value


def _prefix(value: str) -> str:
    """Part of an S3 path, to which FSx adds the slash."""
    if value.startswith("/") or value.endswith("/") or "//" in value or not value.isprintable():
        raise refusal("is not a prefix without a slash at either end", "write it as datasets/text")
    if len(value) > 900:
        raise refusal("is longer than 900 characters", "use a shorter prefix; keys end at 1024")
    return value


BucketName = Annotated[str | None, AfterValidator(_bucket)]


def _all_events() -> list[Literal["NEW", "CHANGED", "DELETED"]]:
    return ["NEW", "CHANGED", "DELETED"]


class DataRepository(Section):
    """A folder of the file system that mirrors a bucket."""

    path: SharedPath = "/data"
    """The folder, from the file system's root."""
    bucket: BucketName = None
    """A bucket there is already; the cluster's own data bucket unless given."""
    prefix: Annotated[str, AfterValidator(_prefix)] = ""
    """The part of the bucket, without a slash at either end; all of it unless given."""
    import_events: Events = Field(default_factory=_all_events)
    """Changes in the bucket that reach the file system."""
    export_events: Events = Field(default_factory=_all_events)
    """Changes in the file system that reach the bucket."""


class ExistingFileSystem(Section):
    """A Lustre file system that is there already, in the cluster's VPC."""

    file_system_id: FileSystemId
    """Its id."""
    dns_name: DnsName
    """Its DNS name."""
    mount_name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,8}$")]
    """Its Lustre mount name."""

    def faults(self) -> Iterator[Fault]:
        """Id and DNS name are of one file system."""
        host = self.dns_name.split(".")[0]
        if host.startswith("fs-") and host != self.file_system_id:
            rule = f"is the name of another file system than {self.file_system_id}"
            yield Fault(("dns_name",), self.dns_name, rule, "use the id and the name of one file system")


class LustreMetadata(Section):
    """Metadata performance (PERSISTENT_2)."""

    mode: Literal["AUTOMATIC", "USER_PROVISIONED"] = "AUTOMATIC"
    """``AUTOMATIC`` follows the capacity; SSD only."""
    iops: int | None = None
    """Metadata operations a second, ``USER_PROVISIONED`` only."""


class ReadCache(Section):
    """The SSD read cache of an INTELLIGENT_TIERING file system."""

    sizing: Literal["NO_CACHE", "PROPORTIONAL_TO_THROUGHPUT_CAPACITY", "USER_PROVISIONED"] = (
        "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"
    )
    """How its size is set."""
    gib: int | None = None
    """Its size, ``USER_PROVISIONED`` only."""


class StorageConfig(Section):
    """The shared file system and its bucket. Defaults fit PERSISTENT_2 on SSD; other types have theirs."""

    deployment_type: Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"] = "PERSISTENT_2"
    """Scratch keeps one copy of the data: a lost server loses it."""
    storage_type: Literal["SSD", "HDD", "INTELLIGENT_TIERING"] = "SSD"
    """HDD is for PERSISTENT_1, INTELLIGENT_TIERING for PERSISTENT_2."""
    capacity_gib: int | None = 1200
    """Size, GiB, 6000 for HDD; INTELLIGENT_TIERING grows by itself and takes none."""
    throughput_mbps_per_tib: int | None = 250
    """Throughput bought, MB/s for each TiB; persistent SSD (PERSISTENT_1: 200) and HDD (12) only."""
    throughput_mbps: int | None = None
    """Throughput bought in all, MB/s, 4000; INTELLIGENT_TIERING only."""
    read_cache: ReadCache | None = None
    """INTELLIGENT_TIERING only, where it follows the throughput unless given."""
    drive_cache: Literal["NONE", "READ"] | None = None
    """SSD cache of an HDD file system."""
    metadata: LustreMetadata | None = None
    """Metadata performance (PERSISTENT_2); FSx's own default unless given."""
    efa: bool = False
    """Nodes reach the file system over EFA (PERSISTENT_2, larger sizes); needs workers with EFA."""
    lustre_version: Literal["2.10", "2.12", "2.15"] = "2.15"
    """Version of the Lustre servers."""
    compression: Literal["LZ4", "NONE"] = "LZ4"
    """Compression of data at rest."""
    backup_days: Annotated[int, Field(ge=0, le=90)] = 0
    """Days that automatic daily backups are kept; persistent types without data repositories."""
    mount_path: MountPath = "/fsx"
    """Where every node mounts the file system."""
    data_repositories: Annotated[list[DataRepository], Field(max_length=8)] = Field(
        default_factory=lambda: [DataRepository()]
    )
    """Folders that mirror buckets; ``/data`` and the cluster's own bucket unless given."""
    existing: ExistingFileSystem | None = None
    """Use this file system instead of making one; its data repositories stay as they are."""
    lifecycle_bucket: BucketName = None
    """Use this bucket for the nodes' bundle instead of making one."""
    deletion: Literal["retain", "delete"] = "retain"
    """What a destroy does with the file system and the data bucket."""

    @property
    def kept(self) -> bool:
        """Whether it is made here and a destroy leaves it."""
        return self.existing is None and self.deletion == "retain"

    @property
    def makes_bucket(self) -> bool:
        """Whether the cluster has a data bucket of its own: a folder of its own file system mirrors it."""
        return self.existing is None and any(link.bucket is None for link in self.data_repositories)

    @model_validator(mode="before")
    @classmethod
    def _by_type(cls, data: Any) -> Any:
        """The defaults of the type that is asked for."""
        if not isinstance(data, dict):
            return data
        if data.get("existing") is not None:
            return {"data_repositories": [], **data}
        if not {"deployment_type", "storage_type", "efa"} & set(data):
            return data
        return {**lustre_rules.defaults(data), **data}

    def faults(self) -> Iterator[Fault]:
        """What FSx would refuse, and what would have no effect."""
        yield from lustre_rules.faults(self)
