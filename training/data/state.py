"""How far an index is, from its files alone."""

from __future__ import annotations

from pathlib import Path

from training.data import shards, sources
from training.data.described import Described
from training.data.errors import DataError


def whole(described: Described) -> bool:
    """Whether a job's index is complete, sound by the sizes of its files, and still that of its files.

    Asks no hub. Raises DataError where the files of a directory are others than those in the index.
    """
    directory = described.index
    if not finished(directory):
        return False
    source = shards.read_source(directory)
    if described.path is not None and sources.revision_of(described) != source.revision:
        raise changed(described)
    return True


def finished(directory: Path) -> bool:
    """Whether every shard there will be is there, with the right size."""
    total = shards.read_total(directory)
    return total is not None and total == len(committed(directory)) and not damaged(directory)


def changed(described: Described) -> DataError:
    """The error for a directory whose files are others than those in the index."""
    hint = f"set index_directory, or move {described.index} away: the order of the samples will be another"
    return DataError(f"dataset: the files of {described.dataset} have changed since they were indexed", hint)


def committed(directory: Path) -> list[shards.Shard]:
    """The shards that there are, first to last."""
    found: list[shards.Shard] = []
    while (shard := shards.read_shard(directory, len(found))) is not None:
        found.append(shard)
    return found


def damaged(directory: Path) -> list[int]:
    """Shards whose file is missing or has another size; a reader also compares the content."""
    return [
        number
        for number, shard in enumerate(committed(directory))
        if shards.fault_of(shards.shard_path(directory, number), shard, only_size=True)
    ]
