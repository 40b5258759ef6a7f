"""What the loop notices by itself: a loss that is no number, a slow rank, memory that grows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.training import ranks
from tests.training.conftest import write_job
from tests.training.test_resume import state
from training import runstate

ACCUMULATED = {"gradient_accumulation": 2, "train_batch_size": 1, "validate_every": 0, "checkpoint_every": 4}
EXACT = {"precision": "fp32", "attention_dropout": 0.0, "residual_dropout": 0.0, "embedding_dropout": 0.0}


def test_a_loss_that_is_no_number_ends_the_run_and_is_never_saved(tmp_path: Path) -> None:
    directory = write_job(tmp_path, checkpoint_every=1)
    assert ranks.train(directory, 2, "not_a_number_on_rank_1") == [1, 1]
    error = "NonFiniteError: step 7: the loss is nan on rank 1"
    assert runstate.first_failure(directory / "run") == error
    left = state(directory)
    assert (left["status"], left["reason"], left["checkpoint"]) == ("failed", error, "step-00000006")
    assert sorted(ranks.metrics(directory)) == list(range(1, 7))
    assert "Traceback" not in ranks.log(directory)
    assert not (directory / "checkpoints" / "step-00000007").exists()


def test_read_a_step_late_it_is_not_saved_either(tmp_path: Path) -> None:
    directory = write_job(tmp_path, checkpoint_every=7)
    assert ranks.train(directory, 2, "late_and_not_a_number") == [1, 1]
    assert "step 7: the loss is nan on rank 1" in str(runstate.first_failure(directory / "run"))
    assert state(directory)["checkpoint"] is None and not list((directory / "checkpoints").glob("step-*"))


def test_without_the_check_it_would_be_saved(tmp_path: Path) -> None:
    directory = write_job(tmp_path, checkpoint_every=1)
    assert ranks.train(directory, 2, "unchecked_not_a_number") == [0, 0]
    assert (directory / "checkpoints" / "step-00000012").exists()


def test_a_gradient_that_is_no_number_ends_the_run_though_the_loss_is_one() -> None:
    assert (
        ranks.call(checked, float("inf"))
        == "step 3: the gradient's norm is inf, the loss finite on every rank"
    )
    assert ranks.call(checked, 1.0) == "good"


def checked(norm: float) -> str:
    from types import SimpleNamespace
    from typing import Any

    from training.reporter import NonFiniteError, check_finite

    answer: Any = SimpleNamespace(step=3, losses=[1.0, 2.0], grad_norm=norm)
    try:
        check_finite(answer)
    except NonFiniteError as error:
        return str(error)
    return "good"


def test_a_bug_is_told_with_its_traceback_though_it_is_a_missing_file(tmp_path: Path) -> None:
    directory = write_job(tmp_path, **EXACT)
    assert ranks.train(directory, 1, "missing_file_of_ours") == [1]
    assert "Traceback" in ranks.log(directory) and "faults.py" in ranks.log(directory)
    assert str(state(directory)["reason"]).startswith("FileNotFoundError: [Errno 2] No such file")


def test_a_slow_rank_is_named(tmp_path: Path) -> None:
    directory = write_job(tmp_path, compare_every=6, validate_every=0)
    assert ranks.train(directory, 2, "rank_1_slow") == [0, 0]
    found = re.findall(r"^Rank (\d) is slow: its forward pass takes (\d\.\d+) s", ranks.log(directory), re.M)
    assert [rank for rank, _ in found] == ["1", "1"]
    assert ranks.metrics(directory)[6]["slow_ranks"] == [1]
    assert ranks.metrics(directory)[5]["slow_ranks"] == []


def named(seconds: list[float]) -> list[int]:
    from training.speed import slow_ranks

    return [slow.rank for slow in slow_ranks(seconds)]


@pytest.mark.parametrize(
    ("seconds", "slow"),
    [
        ([0.10, 0.16], [1]),
        ([0.10, 0.14, 0.10], []),
        ([0.001, 0.015, 0.001], []),  # 15 times as long, and nothing that anybody waits for
        ([0.3, 0.3, 0.1, 0.1], [0, 1]),
    ],
)
def test_a_rank_is_slow_by_half_and_by_enough_to_matter(seconds: list[float], slow: list[int]) -> None:
    assert ranks.call(named, seconds) == slow


def test_a_full_disk_costs_lines_and_not_the_run(tmp_path: Path) -> None:
    directory = write_job(tmp_path, num_steps=6)
    (directory / "run").mkdir()
    for name in ("metrics.jsonl", "ledger.jsonl"):
        (directory / "run" / name).symlink_to("/dev/full")
    assert ranks.train(directory, 2) == [0, 0]
    assert state(directory)["status"] == "done"
    assert ranks.log(directory).count("No space left on device; lines are missing from here on") == 2


def test_a_line_cut_short_by_a_full_disk_costs_no_other_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.jsonl"

    def full(*_arguments: object, **_options: object) -> str:
        path.write_text('{"step": 1}\n{"st')
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("json.dumps", full)
        for step in (2, 3):
            runstate.append_line(path, {"step": step})
    runstate.append_line(path, {"step": 4})
    assert path.read_text().splitlines() == ['{"step": 1}', '{"st', '{"step": 4}']
    assert capsys.readouterr().err.count("No space left") == 1


def test_no_rank_of_an_even_run_is_named(finished: Path) -> None:
    assert "is slow" not in ranks.log(finished)


def test_evaluating_every_two_steps_takes_no_more_memory(tmp_path: Path) -> None:
    directory = write_job(tmp_path, num_steps=40, validate_every=2, checkpoint_every=40, log_every=40)
    assert ranks.train(directory, 2, "noting_memory") == [0, 0]
    for rank in (0, 1):
        noted = re.findall(r"^memory (\d+) (\d+) (\d+)$", ranks.log(directory, rank), re.M)
        assert len(noted) == 21, "one before the first step"
        memory, threads, children = zip(*(tuple(map(int, line)) for line in noted), strict=True)
        assert max(memory[10:]) - memory[5] < 3_000, "in KiB"
        assert len(set(threads[2:])) == 1 and len(set(children)) == 1
    assert ranks.log(directory).index("First validation") < ranks.log(directory).index("Batch 0 Loss")


def test_a_run_of_accumulated_batches_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole, broken = (write_job(tmp_path / name, **ACCUMULATED) for name in ("whole", "broken"))
    assert ranks.train(whole, 2) == [0, 0]
    assert ranks.train(broken, 2, "failing_at_step_6") == [1, 1]
    assert ranks.train(broken, 2) == [0, 0]
    assert ranks.numbers(broken, 2, 1) == ranks.numbers(whole, 1, 5)
    assert ranks.metrics(whole)[12]["tokens"] == 12 * 2 * 2 * 32


@pytest.mark.parametrize("broken", [False, True])
def test_more_batches_or_more_ranks_are_the_same_training(tmp_path: Path, broken: bool) -> None:
    common = {**EXACT, "train_batch_size": 1, "validate_every": 0, "checkpoint_every": 100, "num_steps": 6}
    one = write_job(tmp_path / "one", **common, gradient_accumulation=2)
    two = write_job(tmp_path / "two", **common)
    change = "accumulating_the_same_batch" if broken else ""
    assert ranks.train(one, 1, change) == [0] and ranks.train(two, 2) == [0, 0]
    left, right = ranks.metrics(one), ranks.metrics(two)
    close = all(left[step]["loss"] == pytest.approx(right[step]["loss"], abs=1e-6) for step in range(1, 7))
    norms = all(left[s]["grad_norm"] == pytest.approx(right[s]["grad_norm"], rel=1e-4) for s in range(1, 7))
    assert (close and norms) is not broken
