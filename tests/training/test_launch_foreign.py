"""unbroken-run around a trainer that knows nothing of it: a script with a checkpoint of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from training import runstate
from training.goodput.account import read
from training.launch import command, foreign, run
from training.launch.output import Errors, Progress, follow
from training.ledger import NAME, Ledger

ROOT = Path(__file__).parents[2]
LAST = 8

# What it does at a step comes from `fault`; a fault that is there once is removed before it strikes.
TRAINER = """
import os, pathlib, signal, subprocess, sys, time
here = pathlib.Path(sys.argv[1])
saved = here / "saved"
step = int(saved.read_text()) if saved.exists() else 0
fault, at, again = (here / "fault").read_text().split() if (here / "fault").exists() else ("", "0", "")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while step < {last}:
    time.sleep(0.02)
    step += 1
    if str(step) in at.split(","):
        if again == "once":
            left = ",".join(other for other in at.split(",") if other != str(step))
            (here / "fault").write_text(f"{{fault}} {{left or 0}} once")
        if fault == "hang":
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            (here / "child").write_text(str(child.pid))
            time.sleep(600)
        if fault == "bug":
            raise ValueError(f"shapes differ at 0x{{time.time_ns():x}}")
        if fault == "slow":
            time.sleep(60)
        if fault == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            (here / "child").touch()
            time.sleep(600)
        if fault == "leaves":
            orphan = "sleep 600 & echo $! >" + str(here / "child")
            subprocess.run(["setsid", "sh", "-c", orphan])
            sys.exit(9)
    print(f"[rank0] step: {{step}} loss: 1.0", flush=True)
    saved.write_text(str(step))
"""


@dataclass
class Bench:
    """A foreign trainer in a directory of its own."""

    directory: Path

    def start(self, *options: str, fault: str = "") -> subprocess.Popen[str]:
        (self.directory / "train.py").write_text(TRAINER.format(last=LAST))
        if fault:
            (self.directory / "fault").write_text(fault)
        environment = {"PATH": os.environ["PATH"], "UNBROKEN_PYTHON": sys.executable}
        command = ["bash", str(ROOT / "training/launch/unbroken-run"), *options, "--"]
        return subprocess.Popen(
            [*command, sys.executable, "train.py", str(self.directory)],
            cwd=self.directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # what a terminal's keys send comes to all of it
        )

    def start_and_read(self, step: int, fault: str) -> subprocess.Popen[str]:
        """Start, and come back when a step has been done."""
        process = self.start("--progress", r"step: (\d+)", fault=fault)
        assert process.stdout is not None
        while f"step: {step} " not in process.stdout.readline():
            assert process.poll() is None
        return process

    def run(self, *options: str, fault: str = "") -> tuple[int, str, str]:
        process = self.start("--progress", r"step: (\d+)", *options, fault=fault)
        out, err = process.communicate(timeout=100)
        return process.returncode, out, err

    def state(self) -> runstate.RunState:
        return runstate.read_state(self.directory / "run")

    def ledger(self) -> list[dict[str, Any]]:
        lines = (self.directory / "run" / "ledger.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_run_without_a_fault_passes_its_output_on(bench: Bench) -> None:
    code, out, err = bench.run()
    assert (code, err) == (0, "")
    assert out == "".join(f"[rank0] step: {step} loss: 1.0\n" for step in range(1, LAST + 1))
    assert (bench.state().status, bench.state().step, bench.state().attempt) == ("done", LAST, 1)


def test_a_hang_is_ended_with_all_its_processes_and_goes_on(bench: Bench) -> None:
    """Also a process in a session of its own, as torchrun's ranks are."""
    code, out, err = bench.run("--stall", "1", fault="hang 5 once")
    assert code == 0, err
    assert "failed at saved step 4 (hang: no progress for 1 s at 4); starting again" in err
    assert "Fatal Python error: Aborted" in out and "train.py" in out, "its stacks are in the log"
    assert out.count("step: 4 ") == 1 and out.count("step: 5 ") == 1, "it went on, not from the start"
    assert not _runs(int((bench.directory / "child").read_text()))
    assert (bench.state().status, bench.state().attempt) == ("done", 2)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_hang_is_not_noticed_where_nobody_looks(bench: Bench) -> None:
    """Negative control of the one above."""
    process = bench.start(fault="slow 5 once")
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate(timeout=30)
    assert "a hang is not noticed" in err and process.returncode == 3


def test_a_crash_loop_is_stopped_and_its_error_said_once(bench: Bench) -> None:
    """The address in the error differs each time."""
    code, out, err = bench.run("--longest-pause", "0", fault="bug 5 always")
    assert code == 1
    assert err.count("given up at saved step 4: the same error came 3 times without progress") == 1
    assert err.count("error: ValueError: shapes differ") == 1
    assert out.count("step: 4 ") == 1 and "step: 5 " not in out
    assert bench.state().reason.startswith("ValueError: shapes differ")


def test_progress_refills_the_budget(bench: Bench) -> None:
    """The same error three times, as in the test above; with a step between them it is no loop."""
    code, _out, err = bench.run(fault="bug 2,4,6 once")
    assert code == 0, err
    assert err.count("5 more failures without progress are allowed") == 3


def test_the_ledger_adds_up_to_the_wall_clock(bench: Bench) -> None:
    began = time.time()
    code, _out, err = bench.run(fault="bug 5 once")
    wall = time.time() - began
    lines = bench.ledger()
    assert code == 0, err
    assert [line["event"] for line in lines].count("start") == 2
    assert [line["step"] for line in lines if line["event"] == "resumed"] == [0, 4]
    spent = sum(sum(line["seconds"].values()) for line in lines if line["event"] == "spent")
    first, last = lines[0]["t"], lines[-1]["t"]
    assert spent <= last - first <= wall
    phases = [phase for line in lines if line["event"] == "spent" for phase in line["seconds"]]
    assert phases.count("down") == 1 and phases.count("end") == 1, "nothing came of the failed attempt's end"


def test_told_to_stop_it_leaves_and_the_state_says_so(bench: Bench) -> None:
    process = bench.start_and_read(4, "slow 5 once")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert (process.returncode, bench.state().status) == (3, "preempted")


def test_ctrl_c_reaches_the_command_as_a_wish_to_stop_only(bench: Bench) -> None:
    """A terminal sends SIGINT to all processes in front, and Python would end at once."""
    process = bench.start_and_read(4, "slow 5 once")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, bench.state().status) == (3, "preempted")
    assert "KeyboardInterrupt" not in out + err


def test_a_second_ctrl_c_ends_a_command_that_does_not_listen(bench: Bench) -> None:
    process = bench.start_and_read(4, "deaf 5 once")
    assert process.stderr is not None
    (trainer,) = children(process.pid)
    until = time.monotonic() + 30
    while not (bench.directory / "child").exists() and time.monotonic() < until:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert "told to save and leave" in process.stderr.readline()
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 3 and not _runs(trainer)


def test_a_launcher_that_is_killed_takes_its_command_with_it(bench: Bench) -> None:
    """Else the next launcher's ranks would meet those of the last one."""
    process = bench.start_and_read(4, "slow 5 once")
    (trainer,) = children(process.pid)
    process.kill()
    process.communicate(timeout=30)
    until = time.monotonic() + 30
    while _runs(trainer) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _runs(trainer)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_nothing_outlives_an_attempt(bench: Bench) -> None:
    """Not even a process whose parent has gone, in a session of its own: it might hold a GPU or a port."""
    code, _out, err = bench.run("--longest-pause", "0", fault="leaves 5 once")
    assert code == 0, err
    assert "the step ended with exit code 9" in err
    assert not _runs(int((bench.directory / "child").read_text()))


def test_a_log_that_takes_no_more_does_not_hold_up_the_command(bench: Bench) -> None:
    (bench.directory / "fault").write_text("bug 5 once")
    (bench.directory / "train.py").write_text(TRAINER.format(last=LAST))
    unbroken_run = ["bash", str(ROOT / "training/launch/unbroken-run"), "--progress", r"step: (\d+)", "--"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*unbroken_run, sys.executable, "train.py", str(bench.directory)],
            cwd=bench.directory,
            env={"PATH": os.environ["PATH"], "UNBROKEN_PYTHON": sys.executable},
            stdout=full,
            stderr=full,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0
    assert (bench.state().status, bench.state().step) == ("done", LAST)


def test_a_second_launcher_is_refused_and_the_first_one_goes_on(bench: Bench) -> None:
    first = bench.start_and_read(4, "slow 5 once")
    code, _out, err = bench.run()
    assert code == 2 and "another launcher is at work, process " in err
    assert bench.state().status == "running" and first.poll() is None
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=30)


@dataclass
class FakeReach:
    """A command that nobody can tell to stop at first, as when Slurm has not made its step yet."""

    answers: list[bool]
    started: list[subprocess.Popen[bytes]]

    def start(
        self, argv: Sequence[str], output: int, environment: Mapping[str, str] | None
    ) -> subprocess.Popen[bytes]:
        self.started.append(subprocess.Popen(argv, stdout=output))
        return self.started[-1]

    def stop(self, process: subprocess.Popen[bytes]) -> bool:
        if is_there := self.answers.pop(0):
            process.terminate()
        return is_there

    def send(self, number: int) -> None:
        raise AssertionError("nothing is to be ended")

    def clear(self) -> None:
        pass


def test_a_stop_that_comes_before_the_ranks_are_there_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_ASK_AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    reach = FakeReach([False, False, True], [])
    waiting = command.Command(["sleep", "600"], reach)
    waiting.stop()
    assert waiting.run() == 128 + signal.SIGTERM
    assert reach.answers == []


def test_clocks_that_are_set_do_not_change_what_a_phase_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = foreign.Account(Ledger(tmp_path / NAME, 1, "", time.time()))
    progress = Progress(re.compile(r"(\d+)"))
    progress.begin()
    monkeypatch.setattr(time, "time", lambda: 0.0)  # the clock is put back by decades
    for line in ("0", "1"):
        progress.line(line)
        account.look(progress)
    account.end("done")
    found = read(tmp_path / NAME)
    assert found.attempts[0].resumed == 0
    assert all(0 <= seconds < 5 for span in found.spans for seconds in span.seconds.values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--progress", "(", "--", "true"], "--progress (: missing )"),
        (["--progress", "step", "--", "true"], "has no group"),
        (["--progress", r"(\d+)", "--"], "no command"),
        (["--progress", r"(\d+)", "--", "/no/such/program"], "/no/such/program: no such program"),
        (["--metrics", "/", "--", "true"], "--metrics /: is no file"),
    ],
)
def test_what_is_refused_at_once(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["--run-directory", str(tmp_path / "run"), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "options",
    [["--stall", "-1"], ["--stall", "nan"], ["--longest-pause", "x"], ["--ranks-per-node", "0"]],
)
def test_a_number_that_makes_no_sense_is_refused(options: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main([*options, "--", "true"])
    assert ended.value.code == 2


def test_it_needs_nothing_but_python() -> None:
    """-S leaves site-packages out."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import training.launch.run, training.launch.task"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_a_metrics_file_is_progress_too(tmp_path: Path) -> None:
    """Lines of earlier attempts do not count, nor half of one, nor lines of another kind."""
    file = tmp_path / "metrics.jsonl"
    file.write_text('{"step": 70}\n')
    progress = Progress(metrics=file, clock=lambda: 0.0)
    progress.begin()
    progress.look()
    assert progress.first is None
    with file.open("a") as more:
        more.write('{"epoch": 1}\n{"step": 41}\n{"step": 4')
        more.flush()
        progress.look()
        assert progress.first == 41
        more.write("2}\n")
    progress.look()
    assert (progress.step, progress.best) == (42, 42)


def test_whatever_the_metrics_file_holds_ends_nothing(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    progress = Progress(metrics=file)
    progress.begin()
    file.write_text(
        '{"step": Infinity}\n{"step": NaN}\n{"step": null}\n[]\n7\n{"step": 1e999}\n{"step": 5}\n'
    )
    progress.look()
    assert progress.step == 5
    file.write_text('{"step": 6}\n')  # truncated, as by a rotation
    progress.look()
    assert progress.step == 6
    file.unlink()
    file.mkdir()
    progress.look()
    assert progress.step == 6


@pytest.mark.parametrize("pattern", [r"loss (\S+)", r"loss( \d+)?"])
def test_a_pattern_that_finds_no_number_is_said_once(pattern: str) -> None:
    said: list[str] = []
    progress = Progress(re.compile(pattern), say=said.append)
    progress.begin()
    progress.line("loss nan")
    progress.line("loss inf")
    assert progress.step is None and len(said) == 1 and "no whole number" in said[0]


def test_a_step_that_is_told_again_is_no_progress() -> None:
    times = iter([0.0, 10.0, 50.0])
    progress = Progress(re.compile(r"step (\d+)"), clock=lambda: next(times))
    progress.begin()
    progress.line("step 7")
    progress.line("step 7")
    assert progress.still_seconds() == 40


PEER = "RuntimeError: [gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:6557: Connection reset by peer"


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([f"[rank0]: {PEER}"], "a rank ended without a word"),
        ([f"[rank0]: {PEER}", "[rank1]: ValueError: x", "KeyError: 'y'"], "ValueError: x"),
        (["step 3 loss 0.5"], ""),
    ],
)
def test_the_error_is_not_that_of_a_rank_that_lost_another(lines: list[str], error: str) -> None:
    """torchrun says nothing of a rank that the kernel killed; the others complain of its silence."""
    errors = Errors()
    for line in lines:
        errors.line(line)
    assert errors.first == error


def test_lines_are_read_whole_whatever_the_pieces(tmp_path: Path) -> None:
    """Also those of a progress bar, which end in a carriage return."""
    receiving, sending = os.pipe()
    errors, progress = Errors(), Progress(re.compile(r"(\d+)/100"))
    os.write(sending, b"\r 10/100 [=> ]\r 20/100\nTraceback (most recent call last):\n  ...\n0: Val")
    os.write(sending, b"ueError: x\nRuntimeError: later\n")
    os.close(sending)
    with (tmp_path / "out").open("wb") as out:
        follow(receiving, out.fileno(), [errors, progress])
    assert (progress.step, errors.first) == (20, "ValueError: x")
    assert (tmp_path / "out").read_bytes().endswith(b"RuntimeError: later\n")
