"""What a job's settings say about its data, with the defaults filled in. The hub is not asked."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.config import JobConfig
from training.config.data import SHIPPED, is_path
from training.data import text
from training.data.shards import SCHEMA_VERSION, Source, read_source
from training.data.tokenizer import BYTES, Tokenizer
from training.model.presets import PRESETS, SCRATCH

C4 = "allenai/c4"
_WINDOW = 1024
_READ_IN_PLACE = (".txt", ".text", ".md", "")


@dataclass(frozen=True, kw_only=True)
class Described:
    """A job's data. Paths are absolute; what is no path is a name on the hub."""

    dataset: str
    config: str | None
    split: str
    revision: str | None
    column: str
    tokenizer: str
    tokenizer_revision: str | None
    shard_tokens: int
    indices: Path
    """Folder of the tokenised indices."""

    @property
    def path(self) -> Path | None:
        """The file or directory; None for a dataset of the hub."""
        return Path(self.dataset) if is_path(self.dataset) else None

    @property
    def in_place(self) -> Path | None:
        """A text file that is read byte by byte, without an index."""
        path = self.path
        if path is None or self.tokenizer != BYTES or path.is_dir():
            return None
        return path if path.suffix.lower() in _READ_IN_PLACE else None

    @property
    def index(self) -> Path:
        """Directory of the index; another for each dataset, tokenizer and form of index."""
        made_of = (self.dataset, self.config, self.split, self.revision, self.column, self.tokenizer)
        text = json.dumps([*made_of, self.shard_tokens, SCHEMA_VERSION])
        dataset = self.path.name if self.path is not None else self.dataset
        name = "-".join(filter(None, (dataset, self.config, self.split)))
        word = re.sub(r"[^\w.]+", "-", name).strip("-")[:60]
        return self.indices / f"{word}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def source(self, tokenizer: Tokenizer, revision: str) -> Source:
        """What the index is made of, with what was found out about it."""
        return Source(
            dataset=self.dataset,
            config=self.config,
            split=self.split,
            column=self.column,
            revision=revision,
            tokenizer=self.tokenizer,
            tokenizer_hash=tokenizer.hash,
            vocab_size=tokenizer.vocab_size,
            shard_tokens=self.shard_tokens,
        )


def describe(config: JobConfig, directory: Path) -> Described:
    """The data of a job whose file lies in `directory`."""
    dataset = config.dataset or (SHIPPED if PRESETS[config.preset].weights == SCRATCH else C4)
    of_c4 = "en" if dataset == C4 else None
    shared = (directory / Path(config.index_directory or "data").expanduser()).absolute()
    return Described(
        dataset=str(text.SHIPPED) if dataset == SHIPPED else _absolute(dataset, directory),
        config=config.dataset_config or of_c4,
        split=config.dataset_split,
        revision=config.dataset_revision,
        column=config.text_column,
        tokenizer_revision=None if config.tokenizer else config.weights_revision,
        tokenizer=_absolute(_tokenizer(config, dataset, directory), directory),
        shard_tokens=config.index_shard_tokens,
        indices=shared,
    )


def text_of(config: JobConfig, directory: Path) -> dict[str, Any]:
    """What tells a job's text from what it was before: with another one the order of the samples is another.

    Raises DataError and OSError.
    """
    described = describe(config, directory)
    if described.in_place is not None:
        return {"size of the dataset": described.in_place.stat().st_size}
    return {"revision of the dataset": read_source(described.index).revision}


def window(config: JobConfig, described: Described) -> int | None:
    """Samples shuffled among themselves; None: all."""
    return config.shuffle_window or (None if described.in_place is not None else _WINDOW)


def _tokenizer(config: JobConfig, dataset: str, directory: Path) -> str:
    published = PRESETS[config.preset].weights
    if config.tokenizer is not None:
        return config.tokenizer
    if dataset == SHIPPED or published == SCRATCH:
        return BYTES
    weights = config.weights or published
    if weights == SCRATCH:
        return published
    return f"./{weights}" if (directory / weights).is_dir() and not is_path(weights) else weights


def _absolute(name: str, directory: Path) -> str:
    if not is_path(name):
        return name
    return str((directory / Path(name).expanduser()).absolute())
