"""Settings of the data: where the text comes from and how it is cut into samples."""

from __future__ import annotations

import re
from dataclasses import dataclass

from training.config.kinds import Count
from training.config.problems import Problem, Rule

SHIPPED = "shipped"


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """The text and its samples. A path begins with `/`, `./`, `../` or `~`; relative ones start at the job
    file's folder. Any other name is one of the Hugging Face hub."""

    dataset: str | None = None
    """Text to train on: `shipped` (the public-domain text of training/data/), the path of a text file or
    of a directory of text, jsonl or parquet files, or a name on the hub. null: `allenai/c4` for a preset with
    published weights, `shipped` for the others."""
    dataset_config: str | None = None
    """Configuration of a dataset on the hub; null: its only one, and `en` of allenai/c4."""
    dataset_split: str = "train"
    """Split of a dataset on the hub."""
    dataset_revision: str | None = None
    """Commit, branch or tag of a dataset on the hub; null: its newest when the index is begun."""
    text_column: str = "text"
    """Column of the rows that holds the text."""
    tokenizer: str | None = None
    """`bytes`, the directory of a Hugging Face tokenizer, or a name on the hub. null: that of the weights;
    for `shipped`, and for presets without weights, `bytes`."""
    context_length: Count = 32_768
    """Tokens in one sample."""
    document_masking: bool = True
    """Keep the documents of a sample apart: positions start again, and attention does not cross."""
    shuffle_window: Count | None = None
    """Samples shuffled among themselves. null: 1024 of a tokenised index, and training starts when those are
    there; all of them where a file is read byte by byte."""
    validation_samples: Count | None = None
    """Samples kept for validation; null: one in 20 of a window."""
    index_directory: str | None = None
    """Where tokenised indices lie, on a file system that all nodes share; null: `data` beside the job file.
    Jobs may share one."""
    index_shard_tokens: Count = 1 << 24
    """Tokens in one file of the index."""
    num_epochs: Count = 3
    """Passes over the data; training ends with whichever of num_steps and num_epochs comes first."""


SHARED = (
    "context_length",
    "dataset",
    "dataset_config",
    "dataset_split",
    "dataset_revision",
    "text_column",
    "tokenizer",
    "document_masking",
    "shuffle_window",
    "validation_samples",
)
_OF_HUB = ("dataset_config", "dataset_revision")
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def is_path(name: str) -> bool:
    """Whether a dataset or tokenizer is meant as a path and not as a name on the hub."""
    return name.startswith(("/", "./", "../", "~"))


def _names_are_paths_or_of_the_hub(settings: DataSettings) -> list[Problem]:
    found = []
    for key in ("dataset", "tokenizer"):
        value = getattr(settings, key)
        if value is not None and not is_path(value) and not _HUB_NAME.fullmatch(value):
            hint = "write owner/name, or a path that begins with / or ./"
            found.append(Problem(key, f"{value!r} is neither a path nor a name on the hub", hint))
    return found


def _hub_settings_are_for_the_hub(settings: DataSettings) -> list[Problem]:
    if not settings.dataset or not (is_path(settings.dataset) or settings.dataset == SHIPPED):
        return []
    given = [key for key in _OF_HUB if getattr(settings, key) is not None]
    given += ["dataset_split"] if settings.dataset_split != "train" else []
    hint = "leave it out; it belongs to a dataset of the hub"
    return [Problem(key, f"has no meaning with {settings.dataset}", hint) for key in given]


RULES: tuple[Rule, ...] = (_names_are_paths_or_of_the_hub, _hub_settings_are_for_the_hub)
