"""The cluster file's ``storage`` section: the FSx for Lustre file system and the data bucket linked to it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from unbroken.config.fields import MountPath, SharedPath
from unbroken.config.section import Section, refusal


def _capacity(value: int) -> int:
    """PERSISTENT_2 on SSD: 1200, 2400, then steps of 2400 GiB (API reference, CreateFileSystem)."""
    if value == 1200 or (value > 0 and value % 2400 == 0):
        return value
    below = max(1200, value // 2400 * 2400)
    above = max(1200, (value // 2400 + 1) * 2400) if value > 1200 else 2400
    raise refusal(
        "is not a size FSx for Lustre offers: 1200, 2400 or a multiple of 2400 GiB", f"use {below} or {above}"
    )


class StorageConfig(Section):
    """The shared file system and its bucket."""

    capacity_gib: Annotated[int, AfterValidator(_capacity)] = 1200
    """Size of the file system (PERSISTENT_2, SSD), GiB."""
    throughput_mbps_per_tib: Literal[125, 250, 500, 1000] = 250
    """Throughput bought, MB/s for each TiB."""
    compression: Literal["LZ4", "NONE"] = "LZ4"
    """Compression of data at rest."""
    mount_path: MountPath = "/fsx"
    """Where every node mounts the file system."""
    data_repository_path: SharedPath = "/data"
    """Folder of the file system that mirrors the data bucket."""
    deletion: Literal["retain", "delete"] = "retain"
    """What a destroy does with the file system and the data bucket."""
