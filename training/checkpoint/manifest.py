"""When a checkpoint exists, and whether it is whole: manifests, hashes, commit, setting aside, retention.

A checkpoint is a directory step-NNNNNNNN with a manifest that lists every file with size and hash. It is
written under another name and renamed when complete, so a killed save never looks like one. What is inside
the files is saving.py's work; torch is not imported here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import xxhash

from training.runstate import replace_text

NAME = "manifest.json"
SCHEMA_VERSION = 1
_COMMITTED = re.compile(r"step-\d{8}")
_UNFINISHED = ".writing-"
_LEAVING = ".removing-"
_SET_ASIDE = "set-aside"
_BLOCK = 8 * 1024 * 1024


class CheckpointError(RuntimeError):
    """There are checkpoints, but none that this run can go on from."""


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
    schema_version: int = SCHEMA_VERSION


def directory_name(step: int) -> str:
    """Name of a committed checkpoint."""
    return f"step-{step:08d}"


def start_writing(root: Path, step: int) -> Path:
    """An empty directory to write the checkpoint of a step into; leftovers of a killed save are removed."""
    aside = root / (_UNFINISHED + directory_name(step))
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    return aside


def entry(path: Path) -> FileEntry:
    """Size and hash of a file as it is on disk."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return FileEntry(path.stat().st_size, digest.hexdigest())


def commit(aside: Path, manifest: Manifest) -> Path:
    """Write the manifest and give the directory its name: from here on the checkpoint exists."""
    replace_text(aside / NAME, json.dumps(asdict(manifest), indent=1) + "\n")
    _flush_directory(aside)
    final = aside.parent / directory_name(manifest.step)
    if final.exists():  # the same step was done again after a restart from an older checkpoint
        _remove(final)
    aside.rename(final)
    _flush_directory(final.parent)
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


def committed(root: Path) -> list[Path]:
    """Checkpoints in a directory, newest step first; whatever else lies there is left out."""
    if not root.is_dir():
        return []
    found = (path for path in root.iterdir() if _COMMITTED.fullmatch(path.name) and path.is_dir())
    return sorted(found, key=lambda path: path.name, reverse=True)


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


def set_aside(directory: Path, reason: str) -> Path:
    """Move a bad checkpoint out of the way, with the reason beside it, so that it is never tried again."""
    target = directory.parent / _SET_ASIDE / directory.name
    target.parent.mkdir(exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    directory.rename(target)
    replace_text(target.with_suffix(".reason.txt"), reason + "\n")
    return target


def any_set_aside(root: Path) -> bool:
    """Whether a bad checkpoint was found here before."""
    return any((root / _SET_ASIDE).glob("step-*"))


def remove_unfinished(root: Path) -> list[str]:
    """Remove what killed saves and prunings left; returns the names."""
    left = [p for p in root.glob(".*-step-*") if p.name.startswith((_UNFINISHED, _LEAVING))]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in left]


def prune(root: Path, keep: int) -> list[str]:
    """Remove all but the newest `keep` checkpoints; returns the names removed.

    Trouble with an old checkpoint is not a reason to stop training: what cannot be removed stays.
    """
    if keep < 2:
        raise ValueError("keep must be 2 or more: the newest checkpoint may be damaged")
    removed = []
    for path in committed(root)[keep:]:
        try:
            _remove(path)
        except OSError:
            continue
        removed.append(path.name)
    return removed


def _remove(directory: Path) -> None:
    # renamed first: a directory half removed must not be taken for a checkpoint that was damaged
    leaving = directory.with_name(_LEAVING + directory.name)
    shutil.rmtree(leaving, ignore_errors=True)
    directory.rename(leaving)
    shutil.rmtree(leaving)


def _flush_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
