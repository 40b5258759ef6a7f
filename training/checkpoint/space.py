"""Whether there is room: bytes free where checkpoints go, and what is to be written. No torch here."""

from __future__ import annotations

import shutil
from pathlib import Path

from training.checkpoint.manifest import CheckpointError
from training.checkpoint.size import needed_for


def free(root: Path) -> int:
    """Bytes that may still be written into a directory."""
    return shutil.disk_usage(root).free


def demand(root: Path, size: int, count: int, what: str) -> None:
    """Raise CheckpointError, with both numbers, unless `count` checkpoints of `size` bytes can be written."""
    needed, there = needed_for(count, size), free(root)
    if there < needed:
        raise CheckpointError(
            f"{root}: {_gigabytes(there)} free, and {_gigabytes(needed)} are needed for {what}",
            "make room, use a larger file system, or lower keep_checkpoints",
        )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e8 else f"{count / 1e6:,.3f} MB"
