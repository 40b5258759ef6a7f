"""Whether the files of a checkpoint are those that were written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from training.checkpoint.manifest import FileEntry, Manifest
from training.hashing import hash_of


def entry(path: Path) -> FileEntry:
    """Size and hash of a file as it is on disk."""
    return FileEntry(path.stat().st_size, hash_of(path))


def faults(directory: Path, manifest: Manifest, names: Iterable[str]) -> list[str]:
    """What is wrong with the files named, one sentence each; empty when all are as the manifest says."""
    found = []
    for name in names:
        try:
            fault = _fault(directory / name, manifest.files[name])
        except OSError as error:  # of a disk that fails, say: another checkpoint may still be whole
            fault = f"cannot be read: {error.strerror}"
        if fault:
            found.append(f"{name} {fault}")
    return found


def _fault(path: Path, expected: FileEntry) -> str | None:
    if not path.is_file():
        return "is missing"
    if (size := path.stat().st_size) != expected.size:
        return f"has {size} bytes, not {expected.size}"
    return None if entry(path) == expected else "does not have the hash it was written with"
