"""Training on an index of documents: a run that stopped and went on is the run that never stopped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.training import corpus, ranks
from tests.training.conftest import write_job
from tests.training.test_resume import resumed_from, state
from training.config import load
from training.data import sources
from training.data.described import describe
from training.data.writer import Writer

TEXTS = corpus.texts(120)
SETTINGS = {"dataset": "./texts", "index_shard_tokens": 2000, "shuffle_window": 16, "validation_samples": 8}


def prepared(directory: Path, **changes: object) -> Path:
    """A job directory with the texts, and the whole index of them."""
    write_job(directory, **(SETTINGS | changes))
    corpus.jsonl(directory / "texts" / "a.jsonl", TEXTS)
    described = describe(load(directory / "job.yaml"), directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "open_rows", lambda _described, _revision: corpus.Rows(TEXTS))
        Writer(described, 384).run()
    return directory


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = prepared(tmp_path_factory.mktemp("undisturbed"))
    assert ranks.train(directory, 2) == [0, 0], ranks.log(directory)
    return directory


def gone_on(undisturbed: Path, directory: Path, change: str = "") -> Path:
    """The run as it was after step 4, gone on from there where it lies."""
    resumed_from(undisturbed, directory, 4)
    shutil.rmtree(directory / "data")
    prepared(directory)
    assert ranks.train(directory, 2, change) == [0, 0], ranks.log(directory)
    return directory


def test_a_resumed_run_on_documents_is_the_same_to_the_last_bit(undisturbed: Path, tmp_path: Path) -> None:
    directory = gone_on(undisturbed, tmp_path / "job")
    assert ranks.numbers(directory, 2, 5) == ranks.numbers(undisturbed, 1, 5)


def test_without_its_place_in_the_data_it_differs(undisturbed: Path, tmp_path: Path) -> None:
    """Negative control."""
    directory = gone_on(undisturbed, tmp_path / "job", "from_the_first_sample")
    again, expected = ranks.numbers(directory, 2, 5), ranks.numbers(undisturbed, 1, 5)
    assert [line[0] for line in again] == [line[0] for line in expected]
    assert again != expected


def test_without_masking_it_is_another_run(undisturbed: Path, tmp_path: Path) -> None:
    directory = prepared(tmp_path / "job", document_masking=False)
    assert ranks.train(directory, 2) == [0, 0]
    masked, unmasked = ranks.metrics(undisturbed), ranks.metrics(directory)
    assert masked[1]["loss"] != unmasked[1]["loss"]


def test_a_damaged_shard_ends_the_run_with_its_name_and_the_next_start_mends_it(
    undisturbed: Path, tmp_path: Path
) -> None:
    directory = prepared(tmp_path / "job")
    (shard,) = directory.glob("data/*/shard-000000.bin")
    content = shard.read_bytes()
    shard.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    assert ranks.train(directory, 2) == [1, 1], ranks.log(directory)
    assert "shard-000000.bin: its content has hash" in ranks.log(directory) + ranks.log(directory, 1)
    assert ranks.train(directory, 2) == [0, 0], ranks.log(directory)
    assert shard.read_bytes() == content
    assert ranks.numbers(directory, 2, 1) == ranks.numbers(undisturbed, 1, 1)


# Told to stop while the index has still to grow, and its writer is gone


def growing(directory: Path, *, files: str = "shard-00000[1-9]*") -> Path:
    """A job whose index has its first file, which is enough for four steps."""
    prepared(directory, index_shard_tokens=1000, checkpoint_every=3)
    for path in [*directory.glob(f"data/*/{files}"), *directory.glob("data/*/complete.json")]:
        path.unlink()
    return directory


@pytest.mark.parametrize("files", ["shard*", "s*"])
def test_told_while_waiting_for_the_first_samples_the_ranks_leave(tmp_path: Path, files: str) -> None:
    directory = growing(tmp_path / "job", files=files)
    assert ranks.train(directory, 2, "told_to_stop_while_waiting") == [3, 3], ranks.log(directory)
    assert (state(directory)["status"], state(directory)["step"]) == ("preempted", 0)
    awaited = "source.json" if files == "s*" else "samples of"
    assert "Waiting for " in ranks.log(directory) and awaited in ranks.log(directory)


def test_told_while_waiting_for_more_the_ranks_save_and_leave(undisturbed: Path, tmp_path: Path) -> None:
    directory = growing(tmp_path / "job")
    assert ranks.train(directory, 2, "told_to_stop_while_waiting") == [3, 3], ranks.log(directory)
    left = state(directory)
    assert (left["step"], left["checkpoint"]) == (4, "step-00000004")
    assert left["reason"] == "told to stop by SIGUSR1 to rank 1"
    prepared(directory, index_shard_tokens=1000)
    assert ranks.train(directory, 2) == [0, 0], ranks.log(directory)
    both = ranks.numbers(directory, 1, 1) + ranks.numbers(directory, 2, 1)
    assert both == ranks.numbers(undisturbed, 1, 1)


def test_the_wait_for_the_writer_counts_as_wait_for_data(undisturbed: Path, tmp_path: Path) -> None:
    directory = prepared(tmp_path / "job", index_shard_tokens=1000)
    assert ranks.train(directory, 2, "data_that_comes_late") == [0, 0], ranks.log(directory)
    assert ranks.numbers(directory, 1, 1) == ranks.numbers(undisturbed, 1, 1)
    lines = ranks.metrics(directory)
    waited = {step: line["data_wait_s"] for step, line in lines.items()}
    assert max(waited.values()) == waited[5] >= 0.2 and lines[5]["step_s"] > waited[5]
    assert lines[5]["tokens_per_s"] == pytest.approx(4 * 32 / lines[5]["step_s"])


@pytest.mark.parametrize(
    "change", ["told_to_stop_while_only_rank_1_waits", "first_rank_told_to_stop_while_rank_1_waits"]
)
def test_told_while_one_rank_waits_all_save_and_leave(tmp_path: Path, change: str) -> None:
    directory = prepared(tmp_path / "job", index_shard_tokens=1000, checkpoint_every=3)
    assert ranks.train(directory, 2, change) == [3, 3], ranks.log(directory)
    assert state(directory)["checkpoint"] == "step-00000004"


def test_a_rank_that_waited_alone_would_hear_nothing(tmp_path: Path) -> None:
    """Negative control."""
    directory = prepared(tmp_path / "job", index_shard_tokens=1000, checkpoint_every=3)
    assert ranks.train(directory, 2, "each_waiting_alone")[1] == 9
    assert state(directory)["checkpoint"] != "step-00000004"
