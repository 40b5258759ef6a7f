"""What the file systems and the data bucket cost. FSx's GB of the price list are the GiB of a capacity."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.config import ClusterConfig
from unbroken.config.storage import StorageConfig
from unbroken.ops.cost.model import ByUse, Item, until

_WHAT = "file system"


def lustre(config: ClusterConfig) -> Iterator[Item]:
    """The shared file system."""
    storage = config.storage
    if storage.existing is not None:
        return
    ends = until(storage.deletion)
    if storage.storage_type == "INTELLIGENT_TIERING":
        yield from _tiering(storage)
    else:
        parts = (storage.deployment_type, storage.storage_type, storage.throughput_mbps_per_tib)
        key = ":".join(["lustre", *[str(part) for part in parts if part is not None]])
        cached = storage.drive_cache == "READ"
        yield Item(_WHAT, _capacity(storage), f"{key}:READ" if cached else key, storage.capacity_gib, ends)
    if storage.metadata is not None and storage.metadata.iops is not None:
        detail = f"{storage.metadata.iops} metadata operations/s, less those that come with the size"
        yield Item(_WHAT, detail, "lustre-metadata", None, ends)


def _capacity(storage: StorageConfig) -> str:
    throughput = storage.throughput_mbps_per_tib
    bought = f", {throughput} MB/s per TiB" if throughput else ""
    return f"{storage.capacity_gib} GiB {storage.deployment_type} {storage.storage_type}{bought}"


def _tiering(storage: StorageConfig) -> Iterator[Item]:
    """Storage that grows is paid by use; throughput and cache are bought."""
    ends, throughput, cache = until(storage.deletion), storage.throughput_mbps, storage.read_cache
    yield Item(_WHAT, f"{throughput} MB/s INTELLIGENT_TIERING", "lustre-throughput", throughput, ends)
    if cache is None or cache.sizing == "PROPORTIONAL_TO_THROUGHPUT_CAPACITY":
        yield Item(_WHAT, "read cache, as large as FSx makes it", "lustre-cache", None, ends)
    elif cache.sizing == "USER_PROVISIONED":
        yield Item(_WHAT, f"{cache.gib} GiB read cache", "lustre-cache", cache.gib, ends)


def home(config: ClusterConfig) -> Iterator[Item]:
    """The file system of the home directories."""
    if config.home is None or config.home.existing is not None:
        return
    kind, ends = config.home.deployment_type, until(config.home.deletion)
    size, throughput = config.home.capacity_gib, config.home.throughput_mbps
    yield Item("home", f"{size} GiB OpenZFS {kind}", f"openzfs-storage:{kind}", size, ends)
    yield Item("home", f"{throughput} MB/s", f"openzfs-throughput:{kind}", throughput, ends)


def by_use(config: ClusterConfig) -> Iterator[ByUse]:
    """What is stored."""
    storage = config.storage
    if storage.existing is None and storage.storage_type == "INTELLIGENT_TIERING":
        yield ByUse(_WHAT, "GB stored, by tier")
    if storage.makes_bucket:
        yield ByUse("data bucket", "GB stored, old versions included, and requests")
    if storage.existing is None and storage.backup_days:
        yield ByUse(_WHAT, "GB of backups")
    if config.home is not None and config.home.existing is None and config.home.backup_days:
        yield ByUse("home", "GB of backups")
