"""When a checkpoint exists, and what it says about itself: manifest, commit.

A checkpoint is a directory step-NNNNNNNN with a manifest that lists every file with size and hash. It is
written under another name and renamed when complete, so a killed save never looks like one. What is inside
the files is state.py's, whether they are whole hashes.py's. Standard library only, since the launcher reads
manifests too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from training.checkpoint import retention
from training.errors import JobError
from training.files import flush_directory, replace_text

NAME = "manifest.json"
_SEAL = "sha256"
SCHEMA_VERSION = 2
"""Raised when a release cannot read what another wrote; entries that are added alone do not raise it."""


class CheckpointError(JobError):
    """There are checkpoints, but none that this run can go on from; or none can be written."""


@dataclass(frozen=True)
class Position:
    """How far a run has come: steps finished, tokens trained on, samples used up."""

    step: int = 0
    tokens: int = 0
    samples: int = 0


@dataclass(frozen=True)
class FileEntry:
    """What a file must be: its size in bytes and the XXH3 hash of its content, in hexadecimal."""

    size: int
    xxh3: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a checkpoint says about itself."""

    step: int
    tokens: int
    samples: int
    world: int
    settings: dict[str, Any]
    """Those of the job that a run which goes on from here must share; see JobConfig.shared."""
    files: dict[str, FileEntry]
    versions: dict[str, str] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    """Shape of the model, as in training/model/presets.py."""
    schema_version: int = SCHEMA_VERSION

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(each.size for each in self.files.values())

    @property
    def position(self) -> Position:
        """Where a run goes on from here."""
        return Position(self.step, self.tokens, self.samples)

    def demand_settings(self, given: Mapping[str, Any], path: Path) -> None:
        """Raise CheckpointError, naming each, where settings are others than those the checkpoint was made
        with. One that either side does not know came with a release, and is no difference."""
        others = [
            f"{key} was {json.dumps(self.settings[key])} and is {json.dumps(value)}"
            for key, value in given.items()
            if key in self.settings and self.settings[key] != value
        ]
        if others:
            hint = "restore what was, or start anew with another checkpoint_directory"
            raise CheckpointError(f"{path}: made with other settings: {', '.join(others)}", hint, final=True)


@dataclass(frozen=True)
class Checkpoint:
    """One that is committed: its manifest, and where it is on this node."""

    path: Path
    content: Manifest


def start_writing(root: Path, step: int) -> Path:
    """An empty directory to write the checkpoint of a step into; leftovers of a killed save are removed."""
    aside = unfinished(root, step)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    return aside


def unfinished(root: Path, step: int) -> Path:
    """Where the checkpoint of a step is while it is written."""
    return root / (retention.UNFINISHED + retention.directory_name(step))


def commit(aside: Path, manifest: Manifest) -> Path:
    """Write the manifest and give the directory its name: from here on the checkpoint exists."""
    replace_text(aside / NAME, sealed(asdict(manifest)))
    flush_directory(aside)
    final = aside.parent / retention.directory_name(manifest.step)
    before = retention.take_away(final) if final.exists() else None  # the same step was done again
    aside.rename(final)
    flush_directory(final.parent)
    if before:
        shutil.rmtree(before, ignore_errors=True)
    return final


def sealed(content: Mapping[str, Any]) -> str:
    """Text of a manifest. Its last entry is a hash of the others: it vouches for the files, this for it."""
    return json.dumps({**content, _SEAL: _hash(content)}, indent=1) + "\n"


def read(directory: Path) -> Manifest:
    """The manifest of a checkpoint. Raises ValueError where it is missing or damaged, and CheckpointError
    where another release wrote it: nothing is wrong with that checkpoint, so it must stay where it is."""
    try:
        content = json.loads((directory / NAME).read_text(encoding="utf-8"))
        seal, version = content.pop(_SEAL, None), content["schema_version"]
        if (seal is not None or version == SCHEMA_VERSION) and seal != _hash(content):
            raise ValueError("it does not have the hash it was written with")
        if version == SCHEMA_VERSION:
            content["files"] = {name: FileEntry(**value) for name, value in content["files"].items()}
            known = {each.name for each in fields(Manifest)}
            return Manifest(**{name: value for name, value in content.items() if name in known})
    except FileNotFoundError:
        raise ValueError(f"no {NAME}") from None
    except OSError as error:
        raise ValueError(f"{NAME} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{NAME} is damaged: {error}") from None
    what = f"{directory}: {NAME} has schema_version {version}, and this release reads {SCHEMA_VERSION}"
    hint = "go on with the release that wrote it, or use another checkpoint_directory"
    raise CheckpointError(what, hint, final=True)


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
