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
        path, expected = directory / name, manifest.files[name]
        if not path.is_file():
            found.append(f"{name} is missing")
        elif path.stat().st_size != expected.size:
            found.append(f"{name} has {path.stat().st_size} bytes, not {expected.size}")
        elif entry(path) != expected:
            found.append(f"{name} does not have the hash it was written with")
    return found
