"""`python -m benchmarks.data`: whether reading and indexing keep up with ten times the seed's rate.

The published job read about 46,000 tokens a second on 32 GPUs. The figures are of this machine and its page
cache; a shared file system under load is another matter and was not measured.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, show
from training.data import shards
from training.data.cutter import Cutter
from training.data.index import Index
from training.data.samples import Cut, Samples
from training.data.shards import START
from training.data.tokenizer import HuggingFace
from training.data.writer import commit
from training.files import replace_bytes
from training.hashing import hash_of

SEED_TOKENS_PER_S = 46_000
RANKS = 32
LENGTH = 32_768
_WORDS = 50_000


def texts(count: int) -> Iterator[dict[str, str]]:
    """Rows about as long as C4's: 350 words of an invented language, which may be easier than English."""
    chance = random.Random(1)  # noqa: S311  # nothing secret
    words = ["".join(chance.choices("etaoinshrdlu", k=1 + number % 9)) for number in range(_WORDS)]
    weights = [1 / (1 + number) for number in range(_WORDS)]
    for _row in range(count):
        yield {"text": " ".join(chance.choices(words, weights, k=350))}


class Rows:
    """Rows in memory, as the cutter takes them."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter(self.rows)

    def state_dict(self) -> dict[str, int]:
        return {}


def tokenizer(directory: Path) -> HuggingFace:
    """A tokenizer of 32,000 tokens at most, trained on the texts."""
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=32_000,
        special_tokens=["</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator((row["text"] for row in texts(500)), trainer)
    made.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text('{"eos_token": "</s>"}')
    return HuggingFace(directory)


def indexed_per_s(directory: Path) -> float:
    """Tokens that one writer cuts from rows at hand in a second of one processor."""
    rows = list(texts(8_000))
    cutter = Cutter(Rows(rows), "text", tokenizer(directory), np.dtype("<u2"), START, (0, 0))
    began, tokens = time.process_time(), 0
    for number in range(100):
        if (made := cutter.next_shard(1 << 20)) is None:
            break
        commit(directory, number, made)
        tokens += made.shard.tokens
    return tokens / (time.process_time() - began)


def read_per_s(directory: Path, seconds: float) -> float:
    """Tokens a second that one rank reads in random order from an index of 256 MiB."""
    write_index(directory, shard_count=8, size=1 << 24)
    samples = Samples(Index(directory), Cut(length=LENGTH, seed=1, window=1024))
    samples.batch(0, 1, 5)
    read, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        if samples.looking is not None:
            samples.looking.join()  # a step takes longer than looking ahead
        samples.batch(read, 1, 5)
        read += RANKS
    return read / RANKS * LENGTH / (time.perf_counter() - began)


def write_index(directory: Path, shard_count: int, size: int) -> None:
    """An index of random tokens in documents of about 470."""
    chance = np.random.default_rng(1)
    for number in range(shard_count):
        tokens = chance.integers(0, 32_000, size, dtype=np.uint16)
        marks = np.unique(chance.integers(0, size, size // 470, dtype=np.int32))
        write_shard(directory, number, tokens.tobytes() + marks.tobytes(), size, len(marks))
    source = dict.fromkeys(
        ("dataset", "config", "split", "column", "revision", "tokenizer", "tokenizer_hash"), ""
    )
    sizes = {"vocab_size": 32_000, "shard_tokens": size}
    shards.write_json(directory / "source.json", {"schema_version": 1, **source, **sizes})
    shards.write_json(directory / "complete.json", {"shards": shard_count})


def write_shard(directory: Path, number: int, content: bytes, tokens: int, marks: int) -> None:
    path = shards.shard_path(directory, number)
    replace_bytes(path, content)
    shard = shards.Shard(
        tokens=tokens,
        beginnings=marks,
        size=len(content),
        xxh3=hash_of(path),
        rows=0,
        empty_rows=0,
        next=START,
    )
    shards.write_json(path.with_suffix(".json"), shards.as_json(shard))


def figures(seconds: float = 3.0) -> Iterator[Figure]:
    """How much of a rank's time, and of one writer's processor, ten times the seed's rate takes."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        read, indexed = read_per_s(Path(first), seconds), indexed_per_s(Path(second))
    return loads(read, indexed)


def loads(read: float, indexed: float) -> Iterator[Figure]:
    """From tokens a second of one rank and of one writer; at 100 % either is the bottleneck."""
    wanted = 10 * SEED_TOKENS_PER_S
    yield Figure("data: a rank's time to read 10 x the seed's rate", 100 * wanted / RANKS / read, "%", 100)
    yield Figure("data: the writer's time to index that for all ranks", 100 * wanted / indexed, "%", 100)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Measure whether reading and indexing keep up")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long to read")
    return show(figures(parser.parse_args().seconds))


if __name__ == "__main__":
    sys.exit(main())
