"""All ranks of a job on this machine, as a person starts and stops them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.conftest import write_job
from tests.training.test_resume import state
from training import local

ROOT = Path(__file__).parents[2]
LONG = {"num_steps": 100_000, "checkpoint_every": 100_000, "validate_every": 0, "warmup_fraction": 0.0}


def start(directory: Path, *options: str) -> subprocess.Popen[str]:
    """In a session of its own, to which the tests send what a terminal would."""
    command = [sys.executable, "-m", "training.local", "--config", str(directory / "job.yaml"), *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=ROOT, stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait(what: str, is_there: Callable[[], bool]) -> None:
    until = time.monotonic() + 100
    while not is_there():
        assert time.monotonic() < until, f"waited for {what}"
        time.sleep(0.02)


def test_a_killed_rank_is_started_again_and_the_job_ends_well(tmp_path: Path) -> None:
    process = start(write_job(tmp_path), "--ranks", "2", "--kill-rank", "1", "--at-step", "6")
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 0, said
    assert "local: killing rank 1 after step 6" in said and "starting again" in said
    assert (state(tmp_path)["status"], state(tmp_path)["attempt"]) == ("done", 2)
    launcher = json.loads((tmp_path / "run" / "launcher.json").read_text())
    assert launcher["last_error"] == "a rank ended without a word"


def test_what_a_rank_cannot_start_with_ends_the_job(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    process = start(write_job(tmp_path, dataset="./text"), "--ranks", "2")
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 2, said
    assert said.count("dataset: ") == 2, "by the rank, and by the launcher in its last line"
    assert "starting again" not in said and "cannot run the job: DataError: dataset: " in said


@pytest.mark.parametrize("is_killed", [False, True])
def test_ctrl_c_or_the_launchers_end_makes_the_ranks_save_and_leave(tmp_path: Path, is_killed: bool) -> None:
    directory = write_job(tmp_path, **LONG)
    process = start(directory, "--ranks", "2")
    metrics = directory / "run" / "metrics.jsonl"
    wait("five steps", lambda: metrics.exists() and metrics.read_text().count("\n") >= 5)
    if is_killed:
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=100)  # until the last rank has closed the pipe
    assert process.returncode == (-signal.SIGKILL if is_killed else 3), said
    left = state(directory)
    assert left["status"] == "preempted" and left["checkpoint"] == f"step-{left['step']:08d}"
    assert "KeyboardInterrupt" not in said


@pytest.mark.parametrize("options", [["--ranks", "0"], ["--kill-rank", "2"], ["--kill-rank", "-1"]])
def test_what_makes_no_sense_starts_nothing(options: list[str], tmp_path: Path) -> None:
    assert local.main(["--config", str(write_job(tmp_path) / "job.yaml"), *options]) == 2
    assert not (tmp_path / "run").exists()


def test_a_python_without_the_jobs_packages_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None if name == "xxhash" else object())
    assert local.main(["--config", str(write_job(tmp_path) / "job.yaml")]) == 2
    assert capsys.readouterr().err == (
        f"local: {sys.executable} has no xxhash\n  hint: make setup, then . .venv/bin/activate\n"
    )
    assert not (tmp_path / "run").exists()
