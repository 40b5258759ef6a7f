"""A signal to one rank, in whatever phase, makes all ranks save the same step and leave together."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.training import ranks
from tests.training.conftest import write_job
from tests.training.test_resume import resumed_from, state
from training import stop
from training.config import JobConfig
from training.config.run import RULES
from training.launch import task
from training.launch.rendezvous import Rendezvous
from training.stop import STOP_AT, TIME_LIMIT, Deadline, StopWish


@pytest.mark.parametrize("change", ["told_to_stop_before_torch", "told_to_stop_while_loading"])
def test_before_the_first_step_there_is_nothing_to_save(tmp_path: Path, change: str) -> None:
    directory = write_job(tmp_path)
    assert ranks.train(directory, 2, change) == [3, 3]
    left = state(directory)
    assert (left["status"], left["step"], left["checkpoint"]) == ("preempted", 0, None)
    assert left["reason"] == "told to stop by SIGUSR1 to rank 1" and left["stopped_by"] == "signal"
    assert not (directory / "run" / "metrics.jsonl").exists()
    has_loaded = "No Checkpoints Found" in ranks.log(directory)
    assert has_loaded is (change == "told_to_stop_while_loading"), "nothing is built for a run that leaves"


def test_told_while_loading_the_checkpoint_stays_what_is_resumed(finished: Path, tmp_path: Path) -> None:
    directory = resumed_from(finished, tmp_path / "job", 4)
    assert ranks.train(directory, 2, "told_to_stop_while_loading") == [3, 3]
    assert (state(directory)["step"], state(directory)["checkpoint"]) == (4, "step-00000004")


def test_told_by_way_of_torchrun_the_ranks_save_and_leave(tmp_path: Path) -> None:
    """With the environment that each task of the step gives it; by itself it kills them after 30 s."""
    directory = write_job(tmp_path, num_steps=100_000, checkpoint_every=100_000, validate_every=0)
    meeting = task.rendezvous_environment(Rendezvous(("here",), 0, "127.0.0.1", ranks._free_port()), 2)
    command = [sys.executable, "-m", "torch.distributed.run", "-m", "training.pretrain"]
    with subprocess.Popen(
        [*command, "--config", str(directory / "job.yaml")],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **meeting, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as torchrun:
        assert torchrun.stdout is not None
        said = list(itertools.takewhile(lambda line: "Batch 3 Loss" not in line, torchrun.stdout))
        torchrun.send_signal(signal.SIGUSR1)
        said += torchrun.communicate(timeout=100)[0]
    left = state(directory)
    assert left["status"] == "preempted" and left["checkpoint"] == f"step-{left['step']:08d}", "".join(said)
    assert str(left["reason"]).startswith("told to stop by SIGUSR1 to rank ")


def test_an_evaluation_is_cut_short(tmp_path: Path) -> None:
    directory = write_job(tmp_path, validate_batches=3)
    assert ranks.train(directory, 2, "told_to_stop_while_evaluating") == [3, 3]
    assert (state(directory)["step"], state(directory)["checkpoint"]) == (6, "step-00000006")
    assert "Batch 5 Validation loss" not in ranks.log(directory)
    assert ranks.train(directory, 2, "deaf_while_evaluating") == [0, 0], "it began after step 6"


def test_without_asking_between_batches_the_evaluation_goes_on(tmp_path: Path) -> None:
    directory = write_job(tmp_path, validate_batches=3)
    assert ranks.train(directory, 2, "deaf_while_evaluating") == [3, 3]
    assert "Batch 5 Validation loss" in ranks.log(directory) and state(directory)["step"] == 7


def test_told_while_saving_no_further_step_is_done(finished: Path, tmp_path: Path) -> None:
    directory = write_job(tmp_path)
    assert ranks.train(directory, 2, "told_to_stop_while_saving") == [3, 3]
    assert state(directory)["step"] == 8 and max(ranks.metrics(directory)) == 8
    assert ranks.train(directory, 2) == [0, 0]
    assert ranks.numbers(directory, 2, 1) == ranks.numbers(finished, 1, 9)


def test_answers_read_a_step_late_change_no_number_and_lose_none(finished: Path, tmp_path: Path) -> None:
    directory = write_job(tmp_path)
    assert ranks.train(directory, 2, "answers_one_step_late", term_at=(1, 2)) == [3, 3]
    left = int(str(state(directory)["step"]))
    assert state(directory)["checkpoint"] == f"step-{left:08d}" and left < 12
    assert sorted(ranks.metrics(directory)) == list(range(1, left + 1))
    assert ranks.train(directory, 2, "answers_one_step_late") == [0, 0]
    both = ranks.numbers(directory, 1, 1) + ranks.numbers(directory, 2, 1)
    assert both == ranks.numbers(finished, 1, 1)


@pytest.mark.parametrize(("setting", "by"), [("stop_at", "stop_at"), ("slurm", "time limit")])
def test_the_ranks_leave_before_a_deadline(tmp_path: Path, setting: str, by: str) -> None:
    soon = int(time.time()) + 60
    at = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(soon))
    directory = write_job(tmp_path, num_steps=2000, **({"stop_at": at} if setting == "stop_at" else {}))
    env = {"SLURM_JOB_END_TIME": str(soon)} if setting == "slurm" else {}
    assert ranks.train(directory, 2, env=env) == [3, 3]
    left = state(directory)
    assert (left["status"], left["stopped_by"]) == ("preempted", by)


def test_a_deadline_is_a_wish_once_leaving_would_take_longer() -> None:
    wish = StopWish(10.0, [Deadline(time.time() + 60, TIME_LIMIT)])
    assert wish.number(to_leave=20.0) == stop.NO_WISH
    assert wish.number(to_leave=51.0) == TIME_LIMIT
    assert wish.number() == TIME_LIMIT, "a wish stays"


def test_the_first_thing_that_asks_to_stop_is_followed() -> None:
    """torchrun passes a signal on more than once, and Slurm sends another one later."""
    wish = StopWish(10.0, [Deadline(time.time() + 60, TIME_LIMIT)])
    for number in (signal.SIGUSR1, signal.SIGTERM):
        wish._note(number, None)
    assert wish.number(to_leave=100.0) == signal.SIGUSR1


def test_the_moments_a_job_knows() -> None:
    found = stop.deadlines("2026-01-31T18:00:00+00:00", {"SLURM_JOB_END_TIME": "1769882400"})
    assert found == [Deadline(1769882400.0, STOP_AT), Deadline(1769882400.0, TIME_LIMIT)]
    assert stop.deadlines(None, {"SLURM_JOB_END_TIME": "Unknown"}) == []


def test_the_ranks_follow_the_first_wish() -> None:
    assert stop.first_wish([0, 0]) is None
    found = stop.first_wish([0, int(signal.SIGTERM), TIME_LIMIT])
    assert found is not None and found.reason == "told to stop by SIGTERM to rank 1"


@pytest.mark.parametrize("text", ["tomorrow", "2026-01-31T18:00:00"])
def test_a_time_without_its_zone_is_refused(text: str) -> None:
    problems = [problem for rule in RULES for problem in rule(JobConfig(stop_at=text))]
    assert re.fullmatch(r"stop_at: .* is not a time with its zone\n  hint: .*", str(problems[0]))
