"""What FSx for Lustre refuses at creation, and CloudFormation does not know before; by catalog.fsx.lustre."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from unbroken.catalog.fsx import lustre
from unbroken.catalog.fsx.steps import Sizes
from unbroken.config.section import Fault, ineffective

if TYPE_CHECKING:
    from unbroken.config.storage import StorageConfig

_BESIDE_EXISTING = frozenset({"existing", "mount_path", "lifecycle_bucket"})
_HDD_CAPACITY = 6000
_TIERING: dict[str, Any] = {
    "capacity_gib": None,
    "throughput_mbps_per_tib": None,
    "throughput_mbps": lustre.THROUGHPUT_OF_TIERING.step,
    "read_cache": {"sizing": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"},
    "metadata": {"mode": "USER_PROVISIONED", "iops": 6000},
    "data_repositories": [],
}


def defaults(data: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults of the type that the section asks for, where they are not those of PERSISTENT_2 on SSD."""
    deployment, storage = data.get("deployment_type", "PERSISTENT_2"), data.get("storage_type", "SSD")
    if storage == "INTELLIGENT_TIERING":
        return _TIERING
    if storage == "HDD":
        return {"capacity_gib": _HDD_CAPACITY, "throughput_mbps_per_tib": 12, "drive_cache": "NONE"}
    if deployment == "PERSISTENT_1":
        return {"throughput_mbps_per_tib": 200}
    if deployment == "SCRATCH_1":
        return {"throughput_mbps_per_tib": None, "data_repositories": []}
    if deployment == "SCRATCH_2":
        return {"throughput_mbps_per_tib": None}
    return {"metadata": {"mode": "AUTOMATIC"}} if data.get("efa") is True else {}


def faults(storage: StorageConfig) -> Iterator[Fault]:
    """Every broken rule of the ``storage`` section."""
    if storage.existing is not None:
        yield from _beside_existing(storage)
    elif storage.storage_type not in lustre.storage_types(storage.deployment_type):
        offered = ", ".join(lustre.storage_types(storage.deployment_type))
        rule = f"is not a storage type of {storage.deployment_type}"
        hint = f"use {offered}, or another deployment_type"
        yield Fault(("storage_type",), storage.storage_type, rule, hint)
    else:
        for rule_of in (_throughput, _capacity, _tiering, _metadata, _efa, _version, _drive_cache, _backups):
            yield from rule_of(storage)
    yield from _repositories(storage)


def _beside_existing(storage: StorageConfig) -> Iterator[Fault]:
    keep = _BESIDE_EXISTING | (set() if storage.data_repositories else {"data_repositories"})
    yield from ineffective(storage, keep, "storage.existing")


def _kind(storage: StorageConfig) -> str:
    return f"{storage.deployment_type} on {storage.storage_type}"


def _only(storage: StorageConfig, field: str, allowed: bool, where: str) -> Iterator[Fault]:
    """A setting that belongs to one type."""
    value = getattr(storage, field)
    if value is not None and not allowed:
        yield Fault((field,), value, f"is for {where} only, not {_kind(storage)}", "leave it out")


def _throughput(storage: StorageConfig) -> Iterator[Fault]:
    offered = lustre.throughputs(storage.deployment_type, storage.storage_type)
    value = storage.throughput_mbps_per_tib
    if offered and value not in offered:
        words = ", ".join(str(each) for each in offered)
        rule = f"is not a throughput of {_kind(storage)}"
        yield Fault(("throughput_mbps_per_tib",), _written(value), rule, f"use one of {words}")
    elif not offered:
        yield from _only(storage, "throughput_mbps_per_tib", False, "persistent SSD and HDD file systems")


def _capacity(storage: StorageConfig) -> Iterator[Fault]:
    if storage.storage_type == "INTELLIGENT_TIERING":
        yield from _only(storage, "capacity_gib", False, "file systems of a fixed size")
        return
    efa = storage.efa and lustre.supports_efa(storage.deployment_type, storage.storage_type)
    value, offered = storage.capacity_gib, list(_sizes(storage, efa))
    if any(value in sizes for sizes in offered):
        return
    sizes = offered[0]
    near = " or ".join(str(each) for each in sizes.problem(value or 0))
    rule = f"is not a size of {_kind(storage)}{' with EFA' if efa else ''}: {sizes} GiB"
    yield Fault(("capacity_gib",), _written(value), rule, f"use {near}")


def _sizes(storage: StorageConfig, efa: bool) -> Iterator[Sizes]:
    """Those at the throughput asked for; where that is wrong, those at any."""
    kind = (storage.deployment_type, storage.storage_type)
    offered = lustre.throughputs(*kind) or (None,)
    asked = storage.throughput_mbps_per_tib
    for throughput in (asked,) if asked in offered else offered:
        sizes = lustre.capacities(*kind, throughput, efa)
        if sizes is not None:
            yield sizes


def _tiering(storage: StorageConfig) -> Iterator[Fault]:
    tiering = storage.storage_type == "INTELLIGENT_TIERING"
    for field in ("throughput_mbps", "read_cache"):
        yield from _only(storage, field, tiering, "INTELLIGENT_TIERING")
    if not tiering:
        return
    value, sizes = storage.throughput_mbps, lustre.THROUGHPUT_OF_TIERING
    if value not in sizes:
        near = " or ".join(str(each) for each in sizes.problem(value or 0))
        rule = f"is not a throughput of INTELLIGENT_TIERING: {sizes} MB/s"
        yield Fault(("throughput_mbps",), _written(value), rule, f"use {near}")
    elif value is not None:
        yield from _read_cache(storage, value)


def _read_cache(storage: StorageConfig, throughput: int) -> Iterator[Fault]:
    cache = storage.read_cache
    if cache is None:
        rule = "is required by INTELLIGENT_TIERING"
        yield Fault(("read_cache",), "null", rule, "use sizing: NO_CACHE for none")
    elif cache.sizing == "USER_PROVISIONED":
        least, most = lustre.read_cache_gib(throughput)
        if cache.gib is None or not least <= cache.gib <= most:
            rule = f"is not a cache size at {throughput} MB/s: {least} to {most} GiB"
            yield Fault(("read_cache", "gib"), _written(cache.gib), rule, f"use {least} or more")
    elif cache.gib is not None:
        yield Fault(("read_cache", "gib"), cache.gib, f"has no effect with {cache.sizing}", "leave it out")


def _metadata(storage: StorageConfig) -> Iterator[Fault]:
    metadata = storage.metadata
    if metadata is None:
        return
    if not lustre.supports_metadata_settings(storage.deployment_type):
        rule = f"is for PERSISTENT_2 only, not {storage.deployment_type}"
        yield Fault(("metadata",), metadata.mode, rule, "leave it out")
    elif metadata.mode == "AUTOMATIC":
        yield from _automatic_metadata(storage, metadata.iops)
    else:
        sizes = lustre.metadata_iops(storage.storage_type)
        if metadata.iops not in sizes:
            near = " or ".join(str(each) for each in sizes.problem(metadata.iops or 0))
            rule = f"is not what {storage.storage_type} offers: {sizes}"
            yield Fault(("metadata", "iops"), _written(metadata.iops), rule, f"use {near}")


def _automatic_metadata(storage: StorageConfig, iops: int | None) -> Iterator[Fault]:
    if not lustre.supports_automatic_metadata(storage.storage_type):
        rule = f"is for SSD only, not {storage.storage_type}"
        yield Fault(("metadata", "mode"), "AUTOMATIC", rule, "use USER_PROVISIONED with iops")
    if iops is not None:
        yield Fault(("metadata", "iops"), iops, "has no effect with AUTOMATIC", "use mode: USER_PROVISIONED")


def _efa(storage: StorageConfig) -> Iterator[Fault]:
    if not storage.efa:
        return
    if not lustre.supports_efa(storage.deployment_type, storage.storage_type):
        yield Fault(("efa",), True, f"is for PERSISTENT_2 only, not {_kind(storage)}", "leave it out")
    elif storage.metadata is None:
        yield Fault(("metadata",), "null", "is required beside efa", "leave it out, or use mode: AUTOMATIC")


def _version(storage: StorageConfig) -> Iterator[Fault]:
    offered = lustre.versions(storage.deployment_type, storage.metadata is not None)
    if storage.lustre_version not in offered:
        settings = " with metadata settings" if storage.metadata is not None else ""
        rule = f"is not a version for {storage.deployment_type}{settings}"
        yield Fault(("lustre_version",), storage.lustre_version, rule, f"use {' or '.join(offered)}")


def _drive_cache(storage: StorageConfig) -> Iterator[Fault]:
    hdd = storage.storage_type == "HDD"
    yield from _only(storage, "drive_cache", hdd, "HDD")
    if hdd and storage.drive_cache is None:
        yield Fault(("drive_cache",), "null", "is required by HDD", "use NONE or READ")


def _backups(storage: StorageConfig) -> Iterator[Fault]:
    if not storage.backup_days:
        return
    if not storage.deployment_type.startswith("PERSISTENT"):
        rule = f"days of backups: {storage.deployment_type} has none"
        yield Fault(("backup_days",), storage.backup_days, rule, "leave it out, or use a persistent type")
    elif storage.data_repositories:
        rule = "days of backups: FSx makes none of a file system that is linked to a bucket"
        hint = "leave it out, or use data_repositories: []"
        yield Fault(("backup_days",), storage.backup_days, rule, hint)


def _repositories(storage: StorageConfig) -> Iterator[Fault]:
    yield from _supported_repositories(storage)
    for index, repository in enumerate(storage.data_repositories):
        for field in ("import_events", "export_events"):
            events = getattr(repository, field)
            if len(set(events)) < len(events):
                where = ("data_repositories", index, field)
                yield Fault(where, events, "names an event twice", "name each once")
        for earlier in storage.data_repositories[:index]:
            if _inside(repository.path, earlier.path) or _inside(earlier.path, repository.path):
                rule = f"overlaps {earlier.path}, and FSx links each folder once"
                yield Fault(("data_repositories", index, "path"), repository.path, rule, "use folders apart")
            if (repository.bucket, repository.prefix) == (earlier.bucket, earlier.prefix):
                rule = f"is linked to {earlier.path} already, and FSx links each part of a bucket once"
                where = ("data_repositories", index, "bucket" if repository.bucket else "prefix")
                shown = repository.bucket or repository.prefix or "the data bucket"
                yield Fault(where, shown, rule, "give each a prefix of its own")


def _supported_repositories(storage: StorageConfig) -> Iterator[Fault]:
    if not storage.data_repositories or storage.existing is not None:
        return
    if storage.deployment_type == "SCRATCH_1" or storage.storage_type == "INTELLIGENT_TIERING":
        rule = f"cannot be: FSx links no buckets to {_kind(storage)}"
        yield Fault(("data_repositories",), None, rule, "use data_repositories: []")
    elif storage.lustre_version == "2.10":
        rule = "cannot be: FSx links no buckets to Lustre 2.10"
        yield Fault(("data_repositories",), None, rule, 'use lustre_version: "2.15"')


def _inside(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/")


def _written(value: int | None) -> int | str:
    """As the file has it; a fault without a value would hide that it is null."""
    return "null" if value is None else value
