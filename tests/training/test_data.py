"""Samples: which one each rank reads, that each comes once an epoch, and what a row of documents is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from training.config import parse
from training.data.batch import Ints, cut
from training.data.errors import DataError, TooLittleText
from training.data.opening import open_samples
from training.data.order import Order
from training.data.samples import Cut, Samples
from training.data.text import SHIPPED, ByteText

ROOT = Path(__file__).parents[2]


class Documents:
    """A stream of documents in memory; `chunks` of them appear one after the other when waited for."""

    name = "documents"

    def __init__(self, *chunks: list[int]) -> None:
        self.chunks = [
            [self._document(number, length) for number, length in enumerate(chunk)] for chunk in chunks
        ]
        self.there = self.chunks.pop(0)

    def _document(self, number: int, length: int) -> list[int]:
        return [number % 200] * length

    @property
    def complete(self) -> bool:
        return not self.chunks

    def watch(self) -> Callable[[], None]:
        def look() -> None:
            self.there = self.there + self.chunks.pop(0)

        return look

    def __len__(self) -> int:
        return sum(map(len, self.there))

    def tokens(self, start: int, stop: int) -> Ints:
        assert 0 <= start <= stop <= len(self), "read before it is there"
        return np.array([token for document in self.there for token in document][start:stop])

    def beginnings(self, start: int, stop: int) -> Ints:
        starts = np.cumsum([0, *map(len, self.there)])[:-1]
        return starts[(starts >= start) & (starts < stop)]


def shipped(length: int, seed: int) -> Samples:
    return Samples(ByteText(SHIPPED), Cut(length=length, seed=seed, window=None))


def numbers_read(samples: Samples, worlds: list[int], batch: int, until: int) -> list[int]:
    """Sample numbers in the order read, by a sequence of worlds of one step each."""
    seen: list[int] = []
    for world in worlds * (until // (batch * sum(worlds)) + 1):
        first = len(seen)
        for rank in range(world):
            seen += [samples.sample_at(first + rank * batch + i) for i in range(batch)]
    return seen[:until]


@pytest.mark.parametrize("worlds", [[1], [2], [4], [4, 3, 2, 4]])
def test_each_sample_once_an_epoch_whatever_the_ranks(worlds: list[int]) -> None:
    samples = shipped(64, seed=7)
    count = samples.num_samples or 0
    seen = numbers_read(samples, worlds, 2, 2 * count)
    first, second = seen[:count], seen[count:]
    assert sorted(first) == sorted(second) == list(range(count))
    assert first != second
    assert seen == numbers_read(shipped(64, seed=7), [1], 1, 2 * count)
    assert seen != numbers_read(shipped(64, seed=8), [1], 1, 2 * count)


def test_a_text_read_whole_is_shuffled_whole() -> None:
    """The order of the first version: figures that were measured with it stay true."""
    samples = shipped(64, seed=7)
    count = samples.num_samples or 0
    for epoch in range(2):
        expected = np.random.Generator(np.random.PCG64([7, epoch])).permutation(count).tolist()
        assert [samples.sample_at(epoch * count + i) for i in range(count)] == expected


@pytest.mark.parametrize("count", [1, 7, 8, 9, 23, 24, 25])
@pytest.mark.parametrize("epoch", [0, 1, 2])
def test_windows_hold_each_sample_once(count: int, epoch: int) -> None:
    order = Order(seed=3, window=8)
    places = [order.at(epoch, place, count) for place in range(count)]
    assert sorted(places) == list(range(count))
    if epoch == 0:  # the windows come as the stream does, and their order is known before it ends
        whole = count // 8 * 8
        assert [number // 8 for number in places] == [place // 8 for place in range(count)]
        assert places[:whole] == [order.at(0, place, None) for place in range(whole)]


def test_later_epochs_shuffle_the_windows_too() -> None:
    order = Order(seed=3, window=4)
    assert {tuple(order.at(epoch, place, 40) // 4 for place in range(0, 40, 4)) for epoch in (1, 2)} != {
        tuple(range(10))
    }


GROWING = [[7] * 20, [9] * 10, [5] * 30, [40]]


def growing() -> Samples:
    return Samples(Documents(*GROWING), Cut(length=8, seed=1, window=4, num_validation=2))


def test_a_stream_that_grows_has_the_order_of_the_whole_one() -> None:
    whole = Documents([length for chunk in GROWING for length in chunk])
    known = Samples(whole, Cut(length=8, seed=1, window=4, num_validation=2))
    count = known.num_samples or 0
    samples = growing()
    assert samples.num_samples is None
    expected = [known.sample_at(i) for i in range(3 * count)]
    assert [samples.sample_at(i) for i in range(3 * count)] == expected
    assert samples.num_samples == count


def test_it_waits_only_for_the_window_it_needs() -> None:
    samples = growing()
    assert samples.holds(16, epochs=1) and samples.num_samples is None
    samples.batch(0, 4, 3)  # the fourth window: ready by now
    assert samples.num_samples is None
    assert samples.holds(10_000, epochs=1) is False
    assert samples.num_samples is not None


@pytest.mark.parametrize("asked", [0, 20, 10_000])
def test_every_rank_has_the_same_answer_whenever_it_asks(asked: int) -> None:
    early, late = growing(), growing()
    late.holds(10_000, 1)  # has seen the whole stream
    count = late.num_samples or 0
    for until in (1, 12, count, count + 1, 2 * count, 2 * count + 1):
        early = growing()
        early.holds(asked, 1)
        assert early.holds(until, 2) == late.holds(until, 2) == (until <= 2 * count)


def test_validation_is_the_same_each_time_and_never_trained_on() -> None:
    for samples in (growing(), shipped(64, 7)):
        samples.holds(10_000_000, 1)
        kept = {row.tobytes() for row in validated(samples, 3, 200)}
        assert kept == {row.tobytes() for row in validated(samples, 1, 700)}
        trained = {row.tobytes() for row in rows([samples.batch(0, samples.num_samples or 0, 0)])}
        assert len(kept) == samples.num_validation or isinstance(samples._stream, Documents)
        assert not kept & trained or isinstance(samples._stream, Documents)


def rows(batches: object) -> list[Ints]:
    return [row for batch in batches for row in batch.ids]  # type: ignore[attr-defined]


def validated(samples: Samples, size: int, count: int, rank: int = 0, world: int = 1) -> list[Ints]:
    """The rows that count in a rank's part of a validation."""
    found = samples.validation(size, count, rank, world)
    return [row for batch, rows in found for row in batch.ids[:rows]]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("world", [1, 2, 5, 40])
def test_each_validation_sample_counts_once_on_any_number_of_ranks(size: int, world: int) -> None:
    samples = shipped(64, 7)
    kept = samples.num_validation = 23
    found = [row.tobytes() for rank in range(world) for row in validated(samples, size, 1000, rank, world)]
    assert len(found) == len(set(found)) == kept
    assert set(found) == {row.tobytes() for row in validated(samples, 1, 1000)}
    batches = {len(list(samples.validation(size, 1000, rank, world))) for rank in range(world)}
    assert len(batches) == 1, "each is a collective"


def test_a_validation_is_as_long_as_it_is_told() -> None:
    samples = shipped(64, 7)
    assert [len(validated(samples, 2, 3, rank, 2)) for rank in (0, 1)] == [6, 6]


def test_validation_of_a_growing_stream_is_its_beginning() -> None:
    samples = growing()
    first = [row.tolist() for row in validated(samples, 1, 2)]
    stream = Documents(GROWING[0])
    assert first == [stream.tokens(0, 9).tolist(), stream.tokens(8, 17).tolist()]
    samples.holds(10_000, 1)
    assert samples._first == 2  # training begins behind it
    assert [row.tolist() for row in validated(samples, 1, 2)] == first


def test_every_token_is_predicted_once(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(range(101)))
    samples = Samples(ByteText(tmp_path / "text"), Cut(length=10, seed=1, window=None))
    found = [samples.batch(i, 1, 0).ids[0].tolist() for i in range(samples.num_samples or 0)]
    found += [row.tolist() for row in validated(samples, 1, 1)]
    assert sorted(token for row in found for token in row[1:]) == list(range(1, 101))
    assert all(row == list(range(row[0], row[0] + 11)) for row in found)


def test_what_fills_no_sample_is_said(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(108))
    samples = Samples(ByteText(tmp_path / "text"), Cut(length=10, seed=1, window=None))
    assert samples.description.endswith(
        ": 9 samples of 10 tokens and 1 for validation; 7 tokens at the end fill no sample"
    )


def test_positions_start_again_at_each_document_and_row() -> None:
    stream = Documents([3, 1, 6, 20])
    batch = cut(stream, [0, 1], 8, masking=True)
    assert batch.ids.shape == (2, 9)
    assert batch.positions is not None
    assert batch.positions.tolist() == [[0, 1, 2, 0, 0, 1, 2, 3], [0, 1, 0, 1, 2, 3, 4, 5]]
    assert cut(stream, [2], 8, masking=True).positions is None  # one document: nothing to keep apart
    assert cut(stream, [0, 1], 8, masking=False).positions is None


def test_a_document_that_begins_with_the_last_label_is_not_read_in_the_row() -> None:
    assert cut(Documents([8, 8]), [0], 8, masking=True).positions is None


def test_too_little_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"short")
    with pytest.raises(TooLittleText, match="5 tokens do not make two samples of 64"):
        Samples(ByteText(tmp_path / "text"), Cut(length=64, seed=1, window=None))


def test_an_empty_file_is_too_little_text(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"")
    with pytest.raises(TooLittleText, match="0 tokens"):
        Samples(ByteText(tmp_path / "text"), Cut(length=64, seed=1, window=None))


def test_a_vocabulary_that_is_too_large_is_refused(tmp_path: Path) -> None:
    job = parse({"preset": "tiny", "context_length": 64})
    with pytest.raises(DataError, match="it has 256 tokens and the model 200"):
        open_samples(job, tmp_path, 200)


def test_a_jobs_order_depends_on_its_seed_and_on_no_rank(tmp_path: Path) -> None:
    def order(**values: object) -> list[int]:
        samples = open_samples(parse({"preset": "tiny", "context_length": 64, **values}), tmp_path, 384)
        return [samples.sample_at(index) for index in range(20)]

    assert order(seed=1) == order(seed=1, train_batch_size=4, learning_rate=1.0) != order(seed=2)


def test_the_shipped_text_is_small_and_its_source_named() -> None:
    assert SHIPPED.stat().st_size <= 1_000_000
    assert "public domain" in (SHIPPED.parent / "SOURCE.md").read_text()


def test_the_rehearsed_path_imports_nothing_more() -> None:
    code = (
        "import sys; from pathlib import Path; from training.config import parse; "
        "from training.data.opening import begin, open_samples;"
        "job = parse({'preset': 'tiny', 'context_length': 64});"
        "begin(job, Path('job.yaml')); open_samples(job, Path('.'), 384).batch(0, 2, 0);"
        "print([n for n in ('datasets', 'tokenizers', 'transformers', 'huggingface_hub', 'torch', 'pyarrow') "
        "if n in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
