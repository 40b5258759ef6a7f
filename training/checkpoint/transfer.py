"""Copying one file of a checkpoint: checked on the way, flushed, no faster than it may. No torch here."""

from __future__ import annotations

import os
import time
from pathlib import Path

from training.checkpoint.manifest import CheckpointError, FileEntry
from training.hashing import Digest

_BLOCK = 4 * 1024 * 1024


def copy(source: Path, target: Path, expected: FileEntry, bytes_per_second: float | None) -> None:
    """Copy a file and flush it. Raises CheckpointError if it is not what it was written as."""
    digest, began, done = Digest(), time.monotonic(), 0
    with source.open("rb", buffering=0) as file, target.open("wb", buffering=0) as out:
        while block := file.read(_BLOCK):
            digest.update(block)
            out.write(block)
            done += len(block)
            if bytes_per_second:
                time.sleep(max(0.0, began + done / bytes_per_second - time.monotonic()))
        os.fsync(out.fileno())
    if (target.stat().st_size, digest.hexdigest()) != (expected.size, expected.xxh3):
        raise CheckpointError(f"{source} is damaged: it was not copied")
