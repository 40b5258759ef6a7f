"""What FSx for Lustre offers by deployment and storage type.

Sources: FSx API reference (CreateFileSystem: StorageCapacity, StorageType, FileSystemTypeVersion;
CreateFileSystemLustreConfiguration; CreateFileSystemLustreMetadataConfiguration;
LustreReadCacheConfiguration) and the FSx for Lustre user guide ("Managing storage capacity", for file systems
with EFA; "Managing metadata performance"). Which region has which type is not here.
"""

from __future__ import annotations

from unbroken.catalog.fsx.steps import Sizes

STORAGE_TYPES = ("SSD", "HDD", "INTELLIGENT_TIERING")

_SSD = Sizes(2400, first=(1200,))
_CAPACITY: dict[tuple[str, str, int | None], Sizes] = {
    ("SCRATCH_1", "SSD", None): Sizes(3600, first=(1200, 2400)),
    ("SCRATCH_2", "SSD", None): _SSD,
    **{("PERSISTENT_1", "SSD", each): _SSD for each in (50, 100, 200)},
    ("PERSISTENT_1", "HDD", 12): Sizes(6000),
    ("PERSISTENT_1", "HDD", 40): Sizes(1800),
    **{("PERSISTENT_2", "SSD", each): _SSD for each in (125, 250, 500, 1000)},
}
_CAPACITY_WITH_EFA = {125: Sizes(38400), 250: Sizes(19200), 500: Sizes(9600), 1000: Sizes(4800)}

THROUGHPUT_OF_TIERING = Sizes(4000, most=2_000_000)
"""INTELLIGENT_TIERING: MB/s of the whole file system."""
_METADATA_IOPS = {
    "SSD": Sizes(12000, first=(1500, 3000, 6000), most=192_000),
    "INTELLIGENT_TIERING": Sizes(6000, most=12000),
}


def storage_types(deployment: str) -> tuple[str, ...]:
    """Storage types that a deployment type comes with."""
    found = {storage for kind, storage, _ in _CAPACITY if kind == deployment}
    found |= {"INTELLIGENT_TIERING"} if deployment == "PERSISTENT_2" else set()
    return tuple(storage for storage in STORAGE_TYPES if storage in found)


def throughputs(deployment: str, storage_type: str) -> tuple[int, ...]:
    """MB/s per TiB to choose from; none for SCRATCH (fixed) and INTELLIGENT_TIERING (chosen as a whole)."""
    return tuple(
        each
        for kind, storage, each in _CAPACITY
        if (kind, storage) == (deployment, storage_type) and each is not None
    )


def capacities(
    deployment: str, storage_type: str, throughput: int | None = None, efa: bool = False
) -> Sizes | None:
    """Sizes in GiB; None where nothing is chosen (INTELLIGENT_TIERING) or the combination does not exist."""
    if efa:
        known = throughput is not None and supports_efa(deployment, storage_type)
        return _CAPACITY_WITH_EFA.get(throughput or 0) if known and storage_type == "SSD" else None
    return _CAPACITY.get((deployment, storage_type, throughput))


def supports_metadata_settings(deployment: str) -> bool:
    """Whether metadata IOPS can be set."""
    return deployment == "PERSISTENT_2"


def supports_automatic_metadata(storage_type: str) -> bool:
    """Whether metadata IOPS may follow from the size (mode AUTOMATIC)."""
    return storage_type == "SSD"


def metadata_iops(storage_type: str) -> Sizes:
    """Metadata IOPS that can be provisioned. Raises KeyError for a storage type without metadata settings."""
    return _METADATA_IOPS[storage_type]


def supports_efa(deployment: str, storage_type: str) -> bool:
    """Whether EFA can be enabled (at creation only; it also needs a metadata configuration)."""
    return deployment == "PERSISTENT_2" and storage_type in ("SSD", "INTELLIGENT_TIERING")


def versions(deployment: str, metadata_settings: bool = False) -> tuple[str, ...]:
    """Lustre versions that can be asked for; 2.15 is recommended."""
    if deployment != "PERSISTENT_2":
        return ("2.10", "2.12", "2.15")
    return ("2.15",) if metadata_settings else ("2.12", "2.15")


def supports_key(deployment: str) -> bool:
    """Whether a KMS key of one's own can be given."""
    return deployment.startswith("PERSISTENT")


def read_cache_gib(throughput: int) -> tuple[int, int]:
    """INTELLIGENT_TIERING: smallest and largest read cache, GiB, by the file system's throughput in MB/s."""
    servers = throughput // THROUGHPUT_OF_TIERING.step
    return 32 * servers, 131_072 * servers
