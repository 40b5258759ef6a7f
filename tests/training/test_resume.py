"""A run that stopped and went on is, to the last bit, the run that never stopped."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.training import ranks
from tests.training.conftest import write_job


def resumed_from(finished: Path, directory: Path, step: int) -> Path:
    """A copy of the finished run as it was after a step."""
    shutil.copytree(finished, directory)
    for path in (directory / "checkpoints").iterdir():
        if path.name > f"step-{step:08d}":
            shutil.rmtree(path)
    return directory


def state(directory: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((directory / "run" / "run_state.json").read_text())
    return found


def test_a_killed_run_goes_on_bit_for_bit(finished: Path, tmp_path: Path) -> None:
    directory = write_job(tmp_path)
    assert ranks.train(directory, 2, "failing_at_step_6") == [1, 1]
    assert ranks.train(directory, 2) == [0, 0]
    assert "Checkpoint loaded from" in ranks.log(directory)
    assert ranks.numbers(directory, 2, 1) == ranks.numbers(finished, 1, 5)


def test_three_resumes_in_a_row_end_the_same(finished: Path, tmp_path: Path) -> None:
    directory = resumed_from(finished, tmp_path / "job", 4)
    for attempt, step in ((2, 5), (3, 9)):
        assert ranks.train(directory, 2) == [0, 0]
        assert ranks.numbers(directory, attempt, step) == ranks.numbers(finished, 1, step)
        for path in (directory / "checkpoints").glob("step-00000012"):
            shutil.rmtree(path)


@pytest.mark.parametrize("control", ["without_random_state", "random_state_of_first_rank"])
def test_without_each_ranks_random_state_it_differs(finished: Path, tmp_path: Path, control: str) -> None:
    directory = resumed_from(finished, tmp_path / "job", 4)
    if control == "random_state_of_first_rank":  # the checkpoint itself is made without the guarantee
        directory = write_job(tmp_path / "other")
        assert ranks.train(directory, 2, control) == [0, 0]
        shutil.rmtree(directory / "checkpoints" / "step-00000012")
        shutil.rmtree(directory / "checkpoints" / "step-00000008")
    assert ranks.train(directory, 2, control) == [0, 0]
    again, undisturbed = ranks.numbers(directory, 2, 5), ranks.numbers(finished, 1, 5)
    assert [line[0] for line in again] == [line[0] for line in undisturbed]
    assert again != undisturbed


def test_the_run_directory_tells_the_story(finished: Path) -> None:
    assert state(finished) == {
        "schema_version": 1,
        "status": "done",
        "step": 12,
        "checkpoint": "step-00000012",
        "reason": "",
        "stopped_by": "",
        "job_id": "",
        "attempt": 1,
    }
    lines = ranks.metrics(finished)
    assert sorted(lines) == list(range(1, 13))
    assert {
        "attempt",
        "step",
        "tokens",
        "loss",
        "grad_norm",
        "lr",
        "tokens_per_s",
        "tokens_per_s_per_gpu",
        "mfu",
        "data_wait_s",
        "step_s",
        "memory_gib",
        "slow_ranks",
        "t",
    } == set(lines[1])
    assert lines[1]["mfu"] is None and lines[1]["memory_gib"] is None
    assert lines[12]["tokens"] == 12 * 2 * 2 * 32


def test_the_log_has_the_lines_other_tools_match(finished: Path) -> None:
    text = ranks.log(finished)
    for line in (
        r"Created model with total parameters: 123200 \(0\.00 B\)",
        r"Wrapped model with FSDP",
        r"No Checkpoints Found",
        r"Batch 0 Loss: \d+\.\d{5}, Speed: \d+\.\d\d samples/sec, lr: \d\.\d{6}",
        r"Step 1: \d+ tokens/s per GPU, MFU unknown, data wait \d\.\d{3} s, gradient norm \d+\.\d{4}",
    ):
        assert re.search(f"^{line}$", text, re.M), f"{line} not in:\n{text}"
    assert ranks.log(finished, rank=1) == ""


def test_a_signal_to_one_rank_stops_all_at_the_same_step(tmp_path: Path) -> None:
    directory = write_job(tmp_path, num_steps=2000, checkpoint_every=2000)
    assert ranks.train(directory, 2, term_at=(1, 3)) == [3, 3]
    left = state(directory)
    assert left["status"] == "preempted" and left["checkpoint"] == f"step-{left['step']:08d}"
    assert sorted(ranks.metrics(directory)) == list(range(1, int(str(left["step"])) + 1))


def test_a_bug_is_recorded_with_its_own_error_and_not_the_peers(tmp_path: Path) -> None:
    directory = write_job(tmp_path)
    ranks.train(directory, 2, "failing_at_step_6")
    from training import runstate

    assert runstate.first_failure(directory / "run") == "ZeroDivisionError: a bug of the test"


def test_two_then_four_ranks_read_each_sample_once(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(range(200)) * 32 + b"!")  # 200 samples, 10 of them for validation
    job = {"dataset": "./text", "train_batch_size": 4, "num_epochs": 1, "validate_every": 0}
    directory = write_job(tmp_path, **job, num_steps=10, checkpoint_every=10)
    assert ranks.train(directory, 2, "noting_samples") == [0, 0]
    assert "used up" not in ranks.log(directory)
    write_job(tmp_path, **job, num_steps=1000, checkpoint_every=1000)
    assert ranks.train(directory, 4, "noting_samples") == [0, 0, 0, 0]
    seen = [int(n) for r in range(4) for n in re.findall(r"^sample (\d+)$", ranks.log(directory, r), re.M)]
    assert len(seen) == len(set(seen)) == 10 * 8 + 6 * 16
    assert max(seen) < 190
    left = "num_epochs: the text's 1 epoch is used up; 14 samples of the last epoch cannot fill a step of 16"
    assert left in ranks.log(directory)
    assert "Saved by 2 ranks, 4 go on" in ranks.log(directory)


def test_too_little_text_for_one_step_is_said_and_not_done(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(100))  # two samples besides the one for validation: four are needed
    directory = write_job(tmp_path, dataset="./text", num_epochs=1)
    assert ranks.train(directory, 2) == [1, 1]
    assert "2 samples in 1 epoch cannot fill one step of 4 on 2 ranks" in ranks.log(directory)
    assert "Traceback" not in ranks.log(directory)
    assert state(directory)["status"] == "failed"
