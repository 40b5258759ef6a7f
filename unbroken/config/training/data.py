"""The job's settings of the data: where the text comes from and how it is cut into samples."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from unbroken.config.section import Section
from unbroken.config.training.kinds import Count, source


class DataSettings(Section):
    """The text and its samples."""

    dataset: Annotated[str, AfterValidator(source)] | None = None
    """Text to train on: ``shipped`` (the public-domain text of training/data/), the path of a text file or
    of a directory of text, jsonl or parquet files, or a name on the hub. null: ``allenai/c4`` for a preset
    with published weights, ``shipped`` for the others."""
    dataset_config: str | None = None
    """Configuration of a dataset on the hub; null: its only one, and ``en`` of allenai/c4."""
    dataset_split: str = "train"
    """Split of a dataset on the hub."""
    dataset_revision: str | None = None
    """Commit, branch or tag of a dataset on the hub; null: its newest when the index is begun."""
    text_column: str = "text"
    """Column of the rows that holds the text."""
    tokenizer: Annotated[str, AfterValidator(source)] | None = None
    """``bytes``, the directory of a Hugging Face tokenizer, or a name on the hub. null: that of the weights;
    for ``shipped``, and for presets without weights, ``bytes``."""
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
    """Where tokenised indices lie, on a file system that all nodes share; null: ``data`` beside the job file.
    Jobs may share one."""
    index_shard_tokens: Count = 1 << 24
    """Tokens in one file of the index."""
    num_epochs: Count = 3
    """Passes over the data; training ends with whichever of num_steps and num_epochs comes first."""
