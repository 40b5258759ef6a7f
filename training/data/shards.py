"""The files of a tokenised index, in which one writer leaves a stream as tokens.

    source.json          what the index is made of
    shard-000000.bin     tokens, then the numbers (in the shard) of those that begin a document, as int32
    shard-000000.json    counts, size, hash, and where the next shard goes on; without it there is no shard
    complete.json        totals; written once the stream has ended
    status.json          what the writer does, with a beat that changes while it lives
    set-aside/           shards that were found damaged

All but the last shard hold the same number of tokens, so a token's number gives its shard. Every file is
written aside, flushed and renamed: a writer that is killed leaves whole shards, and the next one goes on
after the last.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training.data.errors import DataError
from training.files import replace_text
from training.hashing import hash_of

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Source:
    """What an index is made of; another source needs another index."""

    dataset: str
    config: str | None
    split: str
    column: str
    revision: str
    """Commit of a dataset on the hub when the index was begun; of files, a hash of their names and sizes."""
    tokenizer: str
    tokenizer_hash: str
    vocab_size: int
    shard_tokens: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a token in a file."""
        return np.dtype("<u2" if self.vocab_size <= 2**16 else "<u4")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a stream goes on: so many rows after a state of the source, so many tokens into that row."""

    state: Mapping[str, Any] | None
    rows: int
    tokens: int


START = Place(state=None, rows=0, tokens=0)


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One committed shard. `rows` and `empty_rows` count from the start of the stream."""

    tokens: int
    beginnings: int
    size: int
    xxh3: str
    rows: int
    empty_rows: int
    next: Place


def fault_of(path: Path, shard: Shard, *, only_size: bool = False) -> str | None:
    """What is wrong with a shard's file, or None."""
    try:
        size = path.stat().st_size
        if size != shard.size:
            return f"has {size} bytes and not {shard.size}"
        if only_size or (found := hash_of(path)) == shard.xxh3:
            return None
    except OSError as error:
        return error.strerror or str(error)
    return f"its content has hash {found} and not {shard.xxh3}"


def shard_path(directory: Path, number: int) -> Path:
    """The file with the tokens of a shard."""
    return directory / f"shard-{number:06d}.bin"


def set_aside(path: Path) -> None:
    """Take a damaged file away. Several readers may find it at once: the first one moves it."""
    folder = path.parent / "set-aside"
    folder.mkdir(exist_ok=True)
    try:
        path.rename(folder / f"{path.name}.{time.time_ns()}")
    except FileNotFoundError:
        pass


def read_shard(directory: Path, number: int) -> Shard | None:
    """A committed shard; None where it is not, or what commits it is damaged (it is then made again)."""
    try:
        content = json.loads(shard_path(directory, number).with_suffix(".json").read_text(encoding="utf-8"))
        return Shard(**{**content, "next": Place(**content["next"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def read_sound(directory: Path, number: int) -> Shard | None:
    """A committed shard whose file is there with its size; None where it is not, or is being made anew."""
    shard = read_shard(directory, number)
    if shard is None or fault_of(shard_path(directory, number), shard, only_size=True):
        return None
    return shard


def read_total(directory: Path) -> int | None:
    """How many shards a complete index has; None while it is not."""
    try:
        return int(json.loads((directory / "complete.json").read_text(encoding="utf-8"))["shards"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def read_source(directory: Path) -> Source:
    """What an index is made of. Raises DataError."""
    path = directory / "source.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("schema_version") != SCHEMA_VERSION:
            raise ValueError("made by another version")
        return Source(**content)
    except (OSError, ValueError, TypeError, KeyError) as error:
        hint = f"move {directory} away; it is made again"
        raise DataError(f"{path}: {getattr(error, 'strerror', None) or error}", hint) from None


def read_status(directory: Path) -> dict[str, Any]:
    """What the writer said last; empty where it said nothing yet."""
    try:
        content: dict[str, Any] = json.loads((directory / "status.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace a file whole, and have it on the disk."""
    replace_text(path, json.dumps(content))


def as_json(value: Source | Shard) -> dict[str, Any]:
    """The fields of a value."""
    return asdict(value)
