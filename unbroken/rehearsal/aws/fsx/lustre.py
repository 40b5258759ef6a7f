"""What FSx refuses of a Lustre file system that the API's model does not.

The rules follow the FSx API reference (CreateFileSystem, CreateFileSystemLustreConfiguration and the shapes
below it). Which sizes and throughputs exist is read from ``unbroken.catalog.fsx``, as the cluster file's own
check does: a wrong number there is not found here. How they go together is written here anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unbroken.catalog.fsx import lustre as offered
from unbroken.rehearsal.aws.fsx.records import FsxError

Problem = tuple[str, str]
"""An error code and a text."""


def check(request: Mapping[str, Any]) -> None:
    """Raise FsxError with the first problem of a CreateFileSystem request for Lustre."""
    for code, text in _problems(Wanted(request)):
        raise FsxError(code, text)


class Wanted:
    """A request, with FSx's defaults filled in."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.lustre: Mapping[str, Any] = request.get("LustreConfiguration", {})
        self.request = request
        self.deployment = str(self.lustre.get("DeploymentType", "SCRATCH_1"))
        self.storage = str(request.get("StorageType", "SSD"))
        self.throughput = self.lustre.get("PerUnitStorageThroughput")
        self.metadata: Mapping[str, Any] | None = self.lustre.get("MetadataConfiguration")
        self.efa = bool(self.lustre.get("EfaEnabled", False))

    @property
    def tiering(self) -> bool:
        """Whether it grows and shrinks by itself."""
        return self.storage == "INTELLIGENT_TIERING"

    @property
    def version(self) -> str:
        """The Lustre version (CreateFileSystem, FileSystemTypeVersion: the defaults)."""
        default = "2.10"
        if self.deployment == "PERSISTENT_2":
            default = "2.12" if self.metadata is None else "2.15"
        return str(self.request.get("FileSystemTypeVersion", default))


def _problems(wanted: Wanted) -> Iterator[Problem]:
    if wanted.storage not in offered.storage_types(wanted.deployment):
        yield "BadRequest", f"StorageType {wanted.storage} is not supported for {wanted.deployment}."
        return
    yield from _throughput(wanted)
    yield from _metadata(wanted)
    yield from _efa(wanted)
    yield from _capacity(wanted)
    yield from _cache(wanted)
    yield from _version(wanted)
    yield from _scratch(wanted)


def _throughput(wanted: Wanted) -> Iterator[Problem]:
    allowed = offered.throughputs(wanted.deployment, wanted.storage)
    given, code = wanted.throughput, "InvalidPerUnitStorageThroughput"
    if not allowed and given is not None:
        yield code, f"PerUnitStorageThroughput cannot be set for {wanted.deployment} {wanted.storage}."
    elif allowed and given not in allowed:
        text = f"PerUnitStorageThroughput {given} is invalid for {wanted.deployment} {wanted.storage}"
        yield code, f"{text}: use one of {', '.join(map(str, allowed))}."
    total = wanted.lustre.get("ThroughputCapacity")
    if wanted.tiering and total not in offered.THROUGHPUT_OF_TIERING:
        yield "BadRequest", f"ThroughputCapacity {total} must be {offered.THROUGHPUT_OF_TIERING} MB/s."
    elif not wanted.tiering and total is not None:
        yield "BadRequest", f"ThroughputCapacity cannot be set for StorageType {wanted.storage}."


def _metadata(wanted: Wanted) -> Iterator[Problem]:
    if wanted.metadata is None:
        return
    if not offered.supports_metadata_settings(wanted.deployment):
        yield "BadRequest", f"MetadataConfiguration is not supported for {wanted.deployment}."
        return
    mode, iops = wanted.metadata.get("Mode"), wanted.metadata.get("Iops")
    if mode == "AUTOMATIC" and not offered.supports_automatic_metadata(wanted.storage):
        yield "BadRequest", f"Metadata mode AUTOMATIC is not supported for StorageType {wanted.storage}."
    elif mode == "AUTOMATIC" and iops is not None:
        yield "BadRequest", "Metadata Iops cannot be set in mode AUTOMATIC."
    elif mode == "USER_PROVISIONED" and iops not in offered.metadata_iops(wanted.storage):
        rule = offered.metadata_iops(wanted.storage)
        yield "BadRequest", f"Metadata Iops {iops} is invalid for {wanted.storage}: use {rule}."


def _efa(wanted: Wanted) -> Iterator[Problem]:
    if not wanted.efa:
        return
    if not offered.supports_efa(wanted.deployment, wanted.storage):
        yield "BadRequest", f"EfaEnabled is not supported for {wanted.deployment} {wanted.storage}."
    elif wanted.metadata is None:
        yield "BadRequest", "EfaEnabled needs a MetadataConfiguration."


def _capacity(wanted: Wanted) -> Iterator[Problem]:
    gib = wanted.request.get("StorageCapacity")
    if wanted.tiering:
        if gib is not None:
            yield "BadRequest", "StorageCapacity cannot be set for StorageType INTELLIGENT_TIERING."
        return
    sizes = offered.capacities(wanted.deployment, wanted.storage, wanted.throughput, wanted.efa)
    if sizes is None or gib not in sizes:
        efa = " with EFA" if wanted.efa else ""
        yield "BadRequest", f"Invalid Lustre FS storage capacity: {gib}. Must be {sizes} GiB{efa}."


def _cache(wanted: Wanted) -> Iterator[Problem]:
    if wanted.storage == "HDD" and "DriveCacheType" not in wanted.lustre:
        yield "BadRequest", "DriveCacheType is required for StorageType HDD."
    if wanted.storage != "HDD" and "DriveCacheType" in wanted.lustre:
        yield "BadRequest", f"DriveCacheType cannot be set for StorageType {wanted.storage}."
    cache = wanted.lustre.get("DataReadCacheConfiguration")
    if cache is not None and not wanted.tiering:
        yield "BadRequest", f"DataReadCacheConfiguration cannot be set for StorageType {wanted.storage}."
    elif wanted.tiering:
        yield from _read_cache(cache, int(wanted.lustre.get("ThroughputCapacity", 0)))


def _read_cache(cache: Mapping[str, Any] | None, throughput: int) -> Iterator[Problem]:
    mode, gib = (cache or {}).get("SizingMode"), (cache or {}).get("SizeGiB")
    least, most = offered.read_cache_gib(throughput)
    if mode is None:
        yield "BadRequest", "DataReadCacheConfiguration is required for StorageType INTELLIGENT_TIERING."
    elif mode == "USER_PROVISIONED" and (gib is None or not least <= gib <= most):
        yield "BadRequest", f"SizeGiB {gib} must be between {least} and {most} for {throughput} MB/s."
    elif mode != "USER_PROVISIONED" and gib is not None:
        yield "BadRequest", f"SizeGiB cannot be set in mode {mode}."


def _version(wanted: Wanted) -> Iterator[Problem]:
    allowed = offered.versions(wanted.deployment, wanted.metadata is not None)
    if wanted.version not in allowed:
        text = f"FileSystemTypeVersion {wanted.version} is not supported for {wanted.deployment}"
        yield "BadRequest", f"{text}: use one of {', '.join(allowed)}."


def _scratch(wanted: Wanted) -> Iterator[Problem]:
    """What a file system without a second copy of its data cannot have."""
    if not offered.supports_key(wanted.deployment) and "KmsKeyId" in wanted.request:
        yield "BadRequest", f"KmsKeyId cannot be set for {wanted.deployment}."
    if wanted.deployment.startswith("SCRATCH") and wanted.lustre.get("AutomaticBackupRetentionDays"):
        yield "BadRequest", f"Automatic backups are not supported for {wanted.deployment}."
