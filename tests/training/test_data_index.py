"""The tokenised index: the same bytes wherever its writer was killed, and no damage that goes unseen."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.training import corpus
from training.config import parse
from training.data import cutter, opening, process, shards, sources, state, writer
from training.data.described import Described, describe
from training.data.errors import DataError
from training.data.index import Index
from training.data.samples import Cut, Samples
from training.data.writer import Writer
from training.hashing import hash_of

TEXTS: list[str | None] = [*corpus.texts(120), None, "", *corpus.texts(40, seed=2)]
SHARD = 5500
ROWS = {"rows": 162, "rows_without_text": 2}
JOB = {"preset": "tiny", "context_length": 32, "dataset": "./texts", "index_shard_tokens": SHARD}


@pytest.fixture
def described(tmp_path: Path) -> Described:
    corpus.jsonl(tmp_path / "texts" / "a.jsonl", TEXTS)
    return describe(parse(JOB), tmp_path)


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows without the library that reads files; test_data_sources.py has it."""
    for module, name in ((sources, "open_rows"), (cutter, "_ROWS")):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back after the test
    use_rows()


def use_rows() -> None:
    sources.open_rows = lambda _described, _revision: corpus.Rows(TEXTS)  # type: ignore[assignment]
    cutter._ROWS = 16


def write(described: Described) -> None:
    Writer(described, 384, wait=lambda _seconds: None).run()


def content(directory: Path) -> dict[str, bytes]:
    """The tokens of all shards, and the totals."""
    return {
        path.name: path.read_bytes()
        for path in directory.iterdir()
        if path.suffix == ".bin" or path.name in ("complete.json", "source.json")
    }


def test_an_index_is_the_stream(described: Described) -> None:
    write(described)
    found = Index(described.index)
    expected = corpus.as_bytes(TEXTS)
    assert found.complete and len(found) == len(expected) > 3 * SHARD
    assert np.array_equal(found.tokens(0, len(found)), expected)
    assert np.array_equal(found.tokens(SHARD - 10, 2 * SHARD + 10), expected[SHARD - 10 : 2 * SHARD + 10])
    ends = np.flatnonzero(expected == 256)
    assert found.beginnings(0, len(found)).tolist() == [0, *(ends[:-1] + 1)]
    assert found.beginnings(int(ends[3]) + 1, int(ends[4]) + 1).tolist() == [ends[3] + 1]
    total = json.loads((described.index / "complete.json").read_text())
    assert total == {
        "shards": -(-len(expected) // SHARD),
        "tokens": len(expected),
        **ROWS,
    }


def killed_at(described: Described, point: int) -> None:
    """Write, and be killed at the so-manieth time that a file is flushed or about to be, or was, renamed."""
    use_rows()
    left = point

    def count() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(original: Callable[..., Any], *, after: bool) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            count()
            result = original(*arguments)
            if after:
                count()
            return result

        return wrapped

    os.fsync = before(os.fsync, after=False)
    Path.replace = before(Path.replace, after=True)  # type: ignore[method-assign]
    write(described)


def end_of(function: Callable[..., object], *arguments: object) -> int:
    """Exit code of a process that runs a function; minus the signal that killed it."""
    process = os.fork()
    if process == 0:
        try:
            function(*arguments)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_killed_at_any_point_the_next_writer_leaves_the_same_bytes(described: Described) -> None:
    write(described)
    whole = content(described.index)
    point, killed = 0, True
    while killed:
        shutil.rmtree(described.index)
        killed = end_of(killed_at, described, point) == -signal.SIGKILL
        write(described)
        assert content(described.index) == whole, f"after a kill at point {point}"
        assert not list(described.index.glob(".shard-*")), f"leftovers of a kill at point {point}"
        point += 1
    assert point > 30


def test_without_its_place_in_a_document_a_writer_would_write_other_bytes(
    described: Described, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control of the test above."""
    write(described)
    whole = content(described.index)
    for path in described.index.glob("shard-00000[12]*"):
        path.unlink()
    (described.index / "complete.json").unlink()
    original = cutter.Cutter._read
    monkeypatch.setattr(cutter.Cutter, "_read", lambda self, place: original(self, replace(place, tokens=0)))
    write(described)
    assert content(described.index) != whole


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path: os.truncate(path, 0),
    "missing": lambda path: path.unlink(),
    "bit": lambda path: path.write_bytes(b"\x01" + path.read_bytes()[1:]),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_shard_is_found_and_made_anew(described: Described, damage: str) -> None:
    write(described)
    whole = content(described.index)
    path = shards.shard_path(described.index, 1)
    DAMAGE[damage](path)
    found = Index(described.index)
    if damage == "bit":  # seen when it is read
        with pytest.raises(DataError, match=r"shard-000001\.bin: its content .*\n  hint: it is set aside"):
            found.tokens(0, 2 * SHARD)
        assert len(list((described.index / "set-aside").iterdir())) == 1
    else:  # a reader waits for the writer to make it anew
        assert len(found) == SHARD and not found.complete
    assert not state.whole(described)
    write(described)
    found.refresh()
    assert state.whole(described) and content(described.index) == whole
    assert np.array_equal(Index(described.index).tokens(0, len(found)), corpus.as_bytes(TEXTS)[: len(found)])


def test_without_hashes_a_flipped_bit_is_read(described: Described, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    write(described)
    DAMAGE["bit"](shards.shard_path(described.index, 0))
    monkeypatch.setattr(shards, "fault_of", lambda path, shard, only_size=False: None)
    assert not np.array_equal(Index(described.index).tokens(0, 9), corpus.as_bytes(TEXTS)[:9])


def test_a_damaged_shard_of_a_source_that_changed_is_not_made_up(
    described: Described, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(described)
    DAMAGE["truncated"](shards.shard_path(described.index, 1))
    other = corpus.Rows([*TEXTS[:70], "another text", *TEXTS[71:]])
    monkeypatch.setattr(sources, "open_rows", lambda _described, _revision: other)
    with pytest.raises(DataError, match=r"is damaged, and .* has changed since"):
        write(described)


def test_a_damaged_commit_of_a_shard_is_none(described: Described) -> None:
    write(described)
    whole = content(described.index)
    os.truncate(described.index / "shard-000001.json", 20)
    found = Index(described.index)
    assert len(found) == SHARD and not found.complete and not state.whole(described)
    write(described)
    assert content(described.index) == whole


def test_two_writers_would_write_the_same(described: Described) -> None:
    """Where a file system has no locks; the second one here goes over an index as it is."""
    write(described)
    whole = content(described.index)
    (described.index / "complete.json").unlink()
    made = Writer(described, 384)
    tokenizer = made.open()
    for number in range(2, 0, -1):
        before = state.committed(described.index)[:number]
        again = made._cutter(tokenizer, before).next_shard(SHARD)
        assert again is not None
        writer.commit(described.index, number, again)
    write(described)
    assert content(described.index) == whole


def test_a_second_writer_waits_for_the_first(described: Described) -> None:
    import threading

    busy = threading.Event()
    order: list[str] = []

    def second() -> None:
        with process.lock(described.index, busy.set):
            order.append("second")

    thread = threading.Thread(target=second)
    with process.lock(described.index):
        thread.start()
        assert busy.wait(10)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_another_tokenizer_of_the_same_name_is_refused(tmp_path: Path) -> None:
    corpus.jsonl(tmp_path / "texts" / "a.jsonl", TEXTS)
    job = parse({**JOB, "tokenizer": "./tokenizer"})
    corpus.tokenizer(tmp_path / "tokenizer")
    described = describe(job, tmp_path)
    write(described)
    corpus.tokenizer(tmp_path / "tokenizer", suffix=True)
    (described.index / "complete.json").unlink()
    with pytest.raises(DataError, match="made with another one of that name"):
        write(described)


def test_files_that_changed_are_refused(described: Described, tmp_path: Path) -> None:
    write(described)
    assert state.whole(described)
    corpus.jsonl(tmp_path / "texts" / "b.jsonl", ["one more"])
    with pytest.raises(DataError, match="have changed since they were indexed"):
        state.whole(described)
    (described.index / "complete.json").unlink()
    with pytest.raises(DataError, match="have changed since they were indexed"):
        write(described)


def test_each_thing_that_makes_an_index_gives_another_one(tmp_path: Path) -> None:
    changes: list[dict[str, object]] = [
        {},
        {"dataset": "./other"},
        {"text_column": "body"},
        {"tokenizer": "./tok"},
        {"index_shard_tokens": 1000},
        {"dataset": "allenai/c4"},
        {"dataset": "allenai/c4", "dataset_config": "de"},
        {"dataset": "allenai/c4", "dataset_split": "validation"},
        {"dataset": "allenai/c4", "dataset_revision": "v1"},
    ]
    found = {describe(parse({**JOB, **change}), tmp_path).index for change in changes}
    assert len(found) == len(changes)
    same: list[dict[str, object]] = [{"context_length": 64}, {"seed": 7}, {"document_masking": False}]
    for change in same:
        assert describe(parse({**JOB, **change}), tmp_path).index in found


class Failing(corpus.Rows):
    """Rows that break off so many times, each time a little later."""

    left = 0
    row = 60

    def __iter__(self) -> Any:
        for number, row in enumerate(super().__iter__()):
            if number == Failing.row and Failing.left > 0:
                Failing.left -= 1
                raise ConnectionError("the hub is tired")
            yield row


def test_a_broken_source_is_tried_again(described: Described, monkeypatch: pytest.MonkeyPatch) -> None:
    write(described)
    whole = content(described.index)
    shutil.rmtree(described.index)
    monkeypatch.setattr(sources, "open_rows", lambda _described, _revision: Failing(TEXTS))
    waited: list[float] = []
    monkeypatch.setattr(Failing, "left", 3)
    monkeypatch.setattr(Failing, "row", 40)
    Writer(described, 384, wait=waited.append).run()
    assert content(described.index) == whole and len(waited) == 3


class Damaged(corpus.Rows):
    """Rows of a file whose content is not what its name says, from the second shard on."""

    def __iter__(self) -> Any:
        yield from list(super().__iter__())[:100]
        raise UnicodeDecodeError("utf-8", b"caf\xe9", 3, 4, "unexpected end of data")


def test_a_file_that_is_damaged_further_on_is_told_at_once(
    described: Described, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "open_rows", lambda _described, _revision: Damaged(TEXTS))
    waited: list[float] = []
    with pytest.raises(DataError, match=r"cannot be read: UnicodeDecodeError: .*\n  hint: mend the file"):
        Writer(described, 384, wait=waited.append).run()
    assert not waited
    assert state.committed(described.index)


def test_a_source_left_broken_is_given_up(described: Described, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "open_rows", lambda _described, _revision: Failing(TEXTS))
    monkeypatch.setattr(Failing, "left", 1000)
    monkeypatch.setattr(Failing, "row", 3)
    waited: list[float] = []
    with pytest.raises(DataError, match="cannot be read, in 8 tries: ConnectionError: the hub is tired"):
        Writer(described, 384, wait=waited.append).run()
    assert waited == sorted(waited) and max(waited) <= 300
    assert shards.read_status(described.index)["state"] == "failed"
    found = Index(described.index)
    with pytest.raises(DataError, match="the hub is tired"):  # a rank that waits learns why
        Samples(found, Cut(length=32, seed=1, window=10_000))


class Refusal(Exception):
    """As the library raises it, with the answer of the hub."""

    def __init__(self, status: int) -> None:
        super().__init__(f"{status} of the hub")
        self.response = SimpleNamespace(status_code=status)


@pytest.mark.parametrize(
    ("error", "tries"),
    [(Refusal(403), 1), (Refusal(429), 5), (Refusal(503), 5), (ConnectionError("no route"), 5)],
)
def test_only_a_refusal_is_final_before_the_ranks_start(
    described: Described, monkeypatch: pytest.MonkeyPatch, error: Exception, tries: int
) -> None:
    asked: list[Described] = []

    def refuse(described: Described) -> str:
        asked.append(described)
        raise sources._no_answer("dataset: a/b", error)

    monkeypatch.setattr(sources, "revision_of", refuse)
    waited: list[float] = []
    with pytest.raises(DataError, match="dataset: a/b: the hub did not give it") as caught:
        Writer(described, 384, wait=waited.append).run()
    assert len(asked) == tries and waited == [5.0, 10.0, 20.0, 40.0][: tries - 1]
    assert ("HF_TOKEN" in caught.value.hint) == (tries == 1)


def test_a_writer_that_is_gone_is_told(described: Described, monkeypatch: pytest.MonkeyPatch) -> None:
    write(described)
    (described.index / "complete.json").unlink()
    shards.write_json(described.index / "status.json", {"state": "writing", "beat": 3})
    clock = iter(range(0, 100_000, 100))
    waited: list[float] = []
    monkeypatch.setattr("training.data.index.time.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("training.data.waiting.time.sleep", waited.append)
    with pytest.raises(DataError, match="nobody has written for 120 s"):
        Samples(Index(described.index), Cut(length=32, seed=1, window=10_000))
    assert waited, "it looked again before it gave up"


def test_the_first_rank_is_told_to_stop_while_the_writer_looks(
    described: Described, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "POLL_SECONDS", 0.01)
    told = iter([False, False, True])
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as silent:
        opening._hear(silent, described, lambda: next(told))
        assert silent.stdin is not None
        silent.stdin.write(b'{"state": "failed", "message": "no such", "hint": "none"}\n')
        silent.stdin.close()
        with pytest.raises(DataError, match="no such"):
            opening._hear(silent, described, lambda: False)


def test_a_file_is_compared_before_a_step_waits_for_it(
    described: Described, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(described)
    compared: list[str] = []

    def comparing(path: Path) -> str:
        compared.append(path.name)
        return hash_of(path)

    monkeypatch.setattr(shards, "hash_of", comparing)
    samples = Samples(Index(described.index), Cut(length=32, seed=1, window=200))
    samples.batch(0, 100, 0)
    assert samples.looking is not None
    samples.looking.join()
    assert len(compared) == len(set(compared)) > 2  # the second window lies in files of its own
    before = list(compared)
    samples.batch(200, 50, 0)
    assert compared[: len(before)] == before and len(set(compared)) == len(compared)


def test_looking_ahead_at_a_damaged_file_is_no_error_of_this_step(described: Described) -> None:
    write(described)
    DAMAGE["bit"](shards.shard_path(described.index, 2))
    samples = Samples(Index(described.index), Cut(length=32, seed=1, window=160))
    samples.batch(0, 20, 0)
    assert samples.looking is not None
    samples.looking.join()
    with pytest.raises(DataError, match=r"shard-000002\.bin"):
        samples.batch(320, 100, 0)


def test_samples_of_an_index_are_those_of_the_stream(described: Described) -> None:
    write(described)
    samples = Samples(Index(described.index), Cut(length=32, seed=1, window=16))
    stream = corpus.as_bytes(TEXTS)
    assert samples.num_validation == 1
    batch = samples.batch(10, 20, 2)
    for row, ids in enumerate(batch.ids):
        start = (samples.sample_at(10 + 2 * 20 + row) + 1) * 32
        assert np.array_equal(ids, stream[start : start + 33])
        begins = [0, *np.flatnonzero(ids[:31] == 256) + 1]
        assert batch.positions is not None
        assert np.flatnonzero(batch.positions[row] == 0).tolist() == begins


def test_a_writer_that_fails_while_its_rank_lives_ends_with_its_own_words() -> None:
    code = "from training.data.process import serve_parent; serve_parent(); raise RuntimeError('mine')"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=-1, stderr=-1, cwd=Path(__file__).parents[2], text=True
    ) as process:
        assert process.stderr
        said = process.stderr.read()
        assert process.wait() == 1
    assert said.endswith("RuntimeError: mine\n")
