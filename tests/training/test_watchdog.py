"""Hangs: a rank that gives no sign of life is found, every rank's stacks are written, and all of them die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training import ranks
from tests.training.conftest import write_job
from training import runstate
from training.files import replace_text
from training.phases import Limits, Phases
from training.watch import evidence, heartbeat
from training.watch.heartbeat import Beat, Heart, read_beats
from training.watch.watchdog import FIRED, Watchdog, main

LIMIT = 2


def test_a_stopped_rank_is_found_long_before_the_others_time_out(finished: Path, tmp_path: Path) -> None:
    directory = write_job(tmp_path, hang_seconds=LIMIT, step_timeout_seconds=90)
    assert ranks.train(directory, 2, "stopped_at_step_6") == [-9, -9]
    fired = json.loads((directory / "run" / "stacks" / FIRED).read_text())
    assert fired["t"] - ranks.metrics(directory)[5]["t"] < 45, "half of the process group's time-out"
    error = "hang: no sign of life from rank 1 in step (stopped by a signal)"
    assert runstate.first_failure(directory / "run") == error
    stacks = [(directory / "run" / "stacks" / "attempt-1" / f"rank-{n}.txt").read_text() for n in (0, 1)]
    assert all("training/loop.py" in text and "Thread" in text for text in stacks)
    assert "state T stopped by a signal" in stacks[1] and "in step after step 5" in stacks[0]
    assert f"watchdog: {error.removeprefix('hang: ')}" in ranks.log(directory)
    assert ranks.train(directory, 2) == [0, 0]
    again = ranks.numbers(directory, 2, 1)
    assert again == ranks.numbers(finished, 1, again[0][0]) and again[-1][0] == 12


def test_ranks_wait_long_for_the_first_step_and_short_for_later_ones(tmp_path: Path) -> None:
    """And give a sign of life at each batch of an evaluation, which may be longer than any limit."""
    patience = {"init_timeout_seconds": 900, "step_timeout_seconds": 77}
    directory = write_job(tmp_path, num_steps=3, validate_every=3, validate_batches=5, **patience)
    assert ranks.train(directory, 2, "noting_patience") == [0, 0]
    for rank in (0, 1):
        lines = ranks.log(directory, rank).splitlines()
        assert [line for line in lines if line.startswith("waits")] == ["waits 900 s", *["waits 77 s"] * 2]
        assert lines.count("beats in evaluate") == 2 + 1 + 5, (
            "two begin, one batch before the first step, five"
        )


def test_a_watchdog_leaves_nothing_in_memory(tmp_path: Path) -> None:
    hearts = tmp_path / "hearts"
    place_beat(hearts, 2**22)  # no process has this number
    assert main(["--heartbeats", str(hearts), "--run-directory", str(tmp_path), "--poll-seconds", "9"]) == 0
    assert not hearts.exists()


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a rank's place."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def beat(rank: int, phase: str = "step", step: int = 7, *, pid: int = 0, ago: float = 99.0) -> Beat:
    pid = pid or os.getpid()
    started = heartbeat.process_start(pid) or 0
    return Beat(pid, started, rank, phase, step, time.monotonic() - ago, 60.0)


def test_the_rank_that_is_behind_or_elsewhere_is_blamed() -> None:
    waiting, behind = beat(0, step=8), beat(1, step=7)
    assert evidence.suspects([waiting, behind], [waiting, behind]) == [behind]
    reading = beat(1, "data", 8)
    assert evidence.suspects([waiting, reading], [waiting, reading]) == [reading]
    assert evidence.suspects([waiting], [waiting]) == [waiting]


def test_a_rank_that_cannot_run_is_blamed_first(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.send_signal(signal.SIGSTOP)
    while heartbeat.process_state(sleeper.pid) != "T":
        time.sleep(0.01)
    stopped, behind = beat(1, step=8, pid=sleeper.pid), beat(0, step=7)
    assert evidence.suspects([behind, stopped], [behind, stopped]) == [stopped]
    assert evidence.describe([stopped], 0.0) == "no sign of life from rank 1 in step (stopped by a signal)"


def test_stacks_are_waited_for_to_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank of a busy node pauses between two lines."""
    path = heartbeat.stacks_file(tmp_path, 0)
    path.write_text("")
    parts = {2: "Thread 1\n", 8: "Thread 2\n"}
    looks = iter(range(100))

    def look_later(_seconds: float) -> None:
        path.write_text(path.read_text() + parts.get(next(looks), ""))

    monkeypatch.setattr(time, "sleep", look_later)
    monkeypatch.setattr(evidence, "_signal", lambda _ranks, _number: None)
    evidence._write_stacks([Beat(1, 1, 0, "step", 7, 0.0, 60.0)], tmp_path)
    assert path.read_text() == "Thread 1\nThread 2\n"


def test_beats_are_read_as_they_were_given(tmp_path: Path) -> None:
    heart = Heart(tmp_path, 3)
    heart.beat("evaluate", 12, 30.0)
    (found,) = read_beats(tmp_path)
    assert (found.rank, found.phase, found.step, found.limit) == (3, "evaluate", 12, 30.0)
    assert heartbeat.is_alive(found) and not found.overdue(found.at + 29) and found.overdue(found.at + 31)
    (tmp_path / "rank-4").write_bytes(b"short")
    assert read_beats(tmp_path) == [found]


def test_a_process_of_the_same_number_is_another_one(sleeper: subprocess.Popen[bytes]) -> None:
    found = beat(0, pid=sleeper.pid)
    assert heartbeat.is_alive(found)
    assert not heartbeat.is_alive(Beat(found.pid, found.started - 1, 0, "step", 7, 0.0, 60.0))


def test_watchdogs_of_other_nodes_follow(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    """Whatever the clock there says."""
    run, hearts = tmp_path / "run", tmp_path / "hearts"
    place_beat(hearts, sleeper.pid)
    stale = {"t": time.time() + 100, "host": "node-2", "reason": "an earlier attempt's"}
    replace_text(run / "stacks" / FIRED, json.dumps(stale))
    watchdog = Watchdog(hearts, run, 0.05)
    assert watchdog._reason(read_beats(hearts)) == ""
    fired = {"t": time.time() - 100, "host": "node-2", "reason": "no sign of life from rank 9 in step"}
    replace_text(run / "stacks" / FIRED, json.dumps(fired))
    assert watchdog.run()
    assert sleeper.wait(10) == -signal.SIGKILL
    assert runstate.first_failure(run) is None, "the node that saw it first says so"


def place_beat(directory: Path, pid: int) -> None:
    """A heartbeat in another process's name, with no limit of its own."""
    Heart(directory, 0)
    packed = heartbeat._LAYOUT.pack(pid, heartbeat.process_start(pid) or 0, 0, 2, 7, time.monotonic(), 0.0)
    (directory / "rank-0").write_bytes(packed)


def test_the_watchdog_needs_no_package(tmp_path: Path) -> None:
    """It starts while torch is imported, and in a third of the time that the packages' folder costs."""
    command = [
        sys.executable,
        "-S",
        "-E",
        "-m",
        "training.watch.watchdog",
        "--heartbeats",
        str(tmp_path / "x"),
    ]
    command += ["--run-directory", str(tmp_path), "--poll-seconds", "0.1"]
    assert subprocess.run(command, cwd=Path(__file__).parents[2], check=True, timeout=60).returncode == 0


def test_limits_follow_what_was_seen() -> None:
    limits = Limits(start_seconds=1800, hang_seconds=60, save_seconds=300)
    assert [limits.of(phase) for phase in ("start", "load", "step", "save")] == [1800] * 4, "first step"
    for seconds in (20.0, 20.0, 90.0):
        limits.note("step", seconds)
    limits.note("save", 40.0)
    assert limits.of("step") == limits.of("data") == limits.of("evaluate") == 200.0
    assert limits.of("save") == 400.0 and limits.of("load") == 1800
    for _ in range(63):
        limits.note("step", 0.5)
    assert limits.of("step") == 60, "never less than hang_seconds"
    assert limits.to_leave == pytest.approx(3 * 0.5 + 2 * 40.0)
    assert Limits(1800, 0, 300).of("step") == 0, "0 turns it off"


def test_a_rank_is_in_one_phase_at_a_time(tmp_path: Path) -> None:
    phases = Phases(Limits(1800, 60, 300), Heart(tmp_path, 0))
    phases.enter("step")
    with phases.within("data"):
        assert read_beats(tmp_path)[0].phase == "data"
    assert read_beats(tmp_path)[0].phase == "step"
    phases.reached(5, 1.0)
    assert (read_beats(tmp_path)[0].step, read_beats(tmp_path)[0].limit) == (5, 60.0)
