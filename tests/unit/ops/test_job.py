"""The job is watched through its files; a look that fails proves nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.ops.fakes import WORKERS, FakeCluster, Screen
from unbroken.ops.rehearse import drill
from unbroken.ops.rehearse.job import _TRIGGER, Job, Watch
from unbroken.ops.stages import Stage, StageFailed
from unbroken.rehearsal.events import Event, EventLog, read
from unbroken.rehearsal.faults import FAULTS

MARK = "---unbroken---\n"


def line(step: int, attempt: int = 1) -> str:
    return json.dumps({"attempt": attempt, "step": step, "loss": 5.0, "t": 100.0 + step}) + "\n"


def job(tmp_path: Path, *answers: tuple[str, str | int | Exception]) -> Job:
    made = Job(FakeCluster(answers), EventLog(tmp_path / "events.jsonl"), "ubuntu", "/fsx/ubuntu/jobs/x")
    made.id = "7"
    return made


def test_submitting_writes_the_files_and_tells_the_id(tmp_path: Path) -> None:
    made = job(tmp_path, ("cat >", ""), ("sbatch", "7;cluster\n"))
    assert made.submit({"job.sbatch": "x", "job.yaml": "y"}) == "7"
    assert read(tmp_path / "events.jsonl")[0].data == {"id": "7", "state": "PENDING"}


def test_a_refused_job_fails_with_sbatchs_words(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="sbatch refused the job: refused"):
        job(tmp_path, ("cat >", ""), ("sbatch", 1)).submit({"job.sbatch": "x"})


def test_a_folder_that_cannot_be_written_fails(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="could not be written"):
        job(tmp_path, ("cat >", 1)).submit({"job.sbatch": "x"})


def test_only_whole_lines_of_metrics_are_read(tmp_path: Path) -> None:
    half = line(2)[:10]
    made = job(
        tmp_path,
        ("tail -c +1 ", f'{{"checkpoint": "step-00000001"}}\n{MARK}{line(1)}{half}'),
        (f"tail -c +{len(line(1)) + 1} ", f"\n{MARK}{line(2)}"),
        ("squeue", "RUNNING\n"),
    )
    assert made.look().step == 1
    assert made.look().step == 2
    assert made.watch.run_state == {"checkpoint": "step-00000001"}


def test_a_failed_look_changes_nothing(tmp_path: Path) -> None:
    made = job(tmp_path, ("tail -c", subprocess.TimeoutExpired("nsenter", 1)))
    assert made.look() == Watch()


def test_a_job_that_ends_early_fails_with_its_log(tmp_path: Path) -> None:
    made = job(tmp_path, ("tail -c", f"\n{MARK}"), ("squeue", "FAILED\n"), ("tail -n", "Traceback\n"))
    with pytest.raises(StageFailed, match="ended as FAILED before a checkpoint") as caught:
        made.until("a checkpoint", lambda _: False, 10.0, lambda _: None)
    assert caught.value.log_lines == ["Traceback"]


def test_waiting_names_what_it_waited_for(tmp_path: Path) -> None:
    made = job(tmp_path, ("tail -c", f"\n{MARK}"), ("squeue", "RUNNING\n"), ("tail -n", ""))
    with pytest.raises(StageFailed, match="no checkpoint within -1 s"):
        made.until("checkpoint", lambda _: False, -1.0, lambda _: None)


def test_the_batch_host_comes_first(tmp_path: Path) -> None:
    made = job(tmp_path, ("scontrol show hostnames", "ip-10-0-0-11\nip-10-0-0-12\nip-10-0-0-12\n"))
    assert made.hosts() == ["ip-10-0-0-12", "ip-10-0-0-11"]


def test_sacct_that_does_not_answer_fails(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="sacct does not answer"):
        job(tmp_path, ("sacct", 1)).accounting()


@pytest.mark.parametrize(
    ("checkpoint", "step", "code"),
    [(None, 9, 1), ("step-00000006", 7, 1), ("step-00000006", 8, 0), ("checkpoints/step-00000006", 9, 0)],
)
def test_the_trigger_waits_for_a_checkpoint_and_some_steps(
    checkpoint: str | None, step: int, code: int, tmp_path: Path
) -> None:
    (tmp_path / "run_state.json").write_text(json.dumps({"checkpoint": checkpoint}))
    (tmp_path / "metrics.jsonl").write_text(line(1) + line(step))
    seconds = "10" if code == 0 else "0.05"
    done = subprocess.run([sys.executable, "-c", _TRIGGER, str(tmp_path), "2", seconds], check=False)
    assert done.returncode == code


def test_the_trigger_bears_files_that_are_not_there(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _TRIGGER, str(tmp_path), "2", "0.05"], check=False)
    assert done.returncode == 1


def test_the_fault_is_told_before_it_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = job(tmp_path, ("tail -c", f"\n{MARK}"), ("squeue", "RUNNING\n"))
    ran: list[list[str]] = []

    def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(argv)
        assert read(tmp_path / "events.jsonl")[-1].kind == "power_off"
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    event = drill.break_node(FAULTS["worker"], WORKERS[1], made, made.events, Stage("fault", Screen()))
    assert event.subject == "ip-10-0-0-12"
    assert "ip link set eth0 down && kill -KILL 13" in ran[0][-1]


def test_recovery_is_a_step_of_a_later_attempt_and_a_node_that_is_back(tmp_path: Path) -> None:
    fault = Event(100.0, "fault", "power_off", "ip-10-0-0-12", {})
    made = job(
        tmp_path,
        ("tail -c +1 ", f"\n{MARK}{line(7, attempt=2)}"),
        ("tail -c", f"\n{MARK}"),
        ("squeue", "RUNNING\n"),
    )
    made.watch.metrics = [json.loads(line(8))]
    EventLog(tmp_path / "events.jsonl", lambda: 99.0).emit("agent", "replaced", "before-the-fault")
    EventLog(tmp_path / "events.jsonl", lambda: 105.0).emit("agent", "replaced", "ip-10-0-0-12")
    stage = Stage("recovery", screen := Screen())
    drill.recover(FAULTS["worker"], made, made.events, fault, stage)
    assert "training again 7.0 s after the fault, from step 7" in stage.note
    assert "detail ip-10-0-0-12: back and idle in Slurm" in screen.lines
    assert not any("before-the-fault" in text for text in screen.lines)
