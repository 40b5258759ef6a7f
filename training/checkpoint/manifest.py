"""When a checkpoint exists, and whether it is whole: manifest, hashes, commit.

A checkpoint is a directory step-NNNNNNNN with a manifest that lists every file with size and hash. It is
written under another name and renamed when complete, so a killed save never looks like one. What is inside
the files is state.py's; torch is not imported here.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import xxhash

from training.checkpoint import retention
from training.runstate import replace_text

NAME = "manifest.json"
SCHEMA_VERSION = 1
_BLOCK = 1024 * 1024  # stays in the processor's cache between reading and hashing


class CheckpointError(RuntimeError):
    """There are checkpoints, but none that this run can go on from; or none can be written."""


@dataclass(frozen=True)
class FileEntry:
    """What a file must be: its size in bytes and the XXH3 128-bit hash of its content, in hexadecimal."""

    size: int
    xxh3: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a checkpoint says about itself."""

    step: int
    tokens: int
    samples: int
    world: int
    config_digest: str
    files: dict[str, FileEntry]
    versions: dict[str, str] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    """Shape of the model, as in training/model/presets.py."""
    schema_version: int = SCHEMA_VERSION

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(each.size for each in self.files.values())


def start_writing(root: Path, step: int) -> Path:
    """An empty directory to write the checkpoint of a step into; leftovers of a killed save are removed."""
    aside = unfinished(root, step)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    return aside


def unfinished(root: Path, step: int) -> Path:
    """Where the checkpoint of a step is while it is written."""
    return root / (retention.UNFINISHED + retention.directory_name(step))


def entry(path: Path) -> FileEntry:
    """Size and hash of a file as it is on disk."""
    digest = xxhash.xxh3_128()
    block = bytearray(_BLOCK)
    part = memoryview(block)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(block):
            digest.update(part[:count])
        size = file.tell()
    return FileEntry(size, digest.hexdigest())


def commit(aside: Path, manifest: Manifest) -> Path:
    """Write the manifest and give the directory its name: from here on the checkpoint exists."""
    replace_text(aside / NAME, json.dumps(asdict(manifest), indent=1) + "\n")
    _flush_directory(aside)
    final = aside.parent / retention.directory_name(manifest.step)
    before = retention.take_away(final) if final.exists() else None  # the same step was done again
    aside.rename(final)
    _flush_directory(final.parent)
    if before:
        shutil.rmtree(before, ignore_errors=True)
    return final


def read(directory: Path) -> Manifest:
    """The manifest of a checkpoint. Raises ValueError where it is missing or not one of ours."""
    try:
        content = json.loads((directory / NAME).read_text(encoding="utf-8"))
        content["files"] = {name: FileEntry(**value) for name, value in content["files"].items()}
        manifest = Manifest(**content)
    except FileNotFoundError:
        raise ValueError(f"no {NAME}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{NAME} is damaged: {error}") from None
    if manifest.schema_version != SCHEMA_VERSION:
        raise ValueError(f"{NAME} has schema_version {manifest.schema_version}, not {SCHEMA_VERSION}")
    return manifest


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


def _flush_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
