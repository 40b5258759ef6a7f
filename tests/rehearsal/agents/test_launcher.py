"""unbroken-run on real Slurm: its signals reach the steps, and only these; a stop is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsal.agents.conftest import Cluster
from training.runstate import RunState, read_state

pytestmark = pytest.mark.nodes

ROOT = Path(__file__).parents[3]
LAST = 20

# Rank 0 counts and saves; rank 1 hangs once, at the step that a file names, deaf and with a child of its own.
TRAINER = """
import os, pathlib, signal, subprocess, sys, time
here = pathlib.Path("/fsx/job")
rank, saved, hang = os.environ["NODE_RANK"], here / "saved", here / "hang"
done = lambda: int(saved.read_text() or 0) if saved.exists() else 0
step = done()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(f"rank {rank} is told to stop", flush=True)))
while step < int(sys.argv[1]):
    step += 1
    if rank == "1" and hang.exists() and step == int(hang.read_text()):
        hang.unlink()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "611"], start_new_session=True)
        time.sleep(600)
    if rank == "1":
        (here / "ready").write_text(str(step))
        while done() < step - 1:
            time.sleep(0.02)
        continue
    while int((here / "ready").read_text() or 0 if (here / "ready").exists() else 0) < step:
        time.sleep(0.02)
    time.sleep(0.1)
    print(f"step: {step}", flush=True)
    saved.write_text(str(step))
"""
JOB = """#!/bin/bash
cd /fsx/job
exec bash /fsx/code/training/launch/unbroken-run --progress 'step: (\\d+)' --stall 2 -- python3 train.py "$1"
"""


def launch(cluster: Cluster, last: int = LAST, hang: str = "") -> str:
    """The id of a job on two nodes, in a new job directory."""
    cluster.run("rm -rf /fsx/job; mkdir -p /fsx/code/training/launch; install -d -o ubuntu /fsx/job")
    sources = [*ROOT.glob("training/*.py"), *ROOT.glob("training/launch/*")]
    for path in sources:
        if path.is_file():
            cluster.do("put", path=f"/fsx/code/{path.relative_to(ROOT)}", text=path.read_text())
    cluster.do("put", path="/fsx/job/train.py", text=TRAINER)
    cluster.do("put", path="/fsx/job.sh", text=JOB)
    if hang:
        cluster.run(f"echo {hang} >/fsx/job/hang", user="ubuntu")
    return cluster.submit("-N2", "--ntasks-per-node=1", "--requeue", command=f"/fsx/job.sh {last}")


def state(cluster: Cluster, tmp_path: Path) -> RunState:
    (tmp_path / "run_state.json").write_text(cluster.run("cat /fsx/job/run/run_state.json"))
    return read_state(tmp_path)


def ended(cluster: Cluster, job: str, how: str) -> None:
    cluster.wait(f"the job is {how}", lambda: cluster.job_state(job) == how, 60)


def test_a_stalled_step_is_ended_and_started_again_in_the_same_job(cluster: Cluster, tmp_path: Path) -> None:
    job = launch(cluster, hang="6")
    ended(cluster, job, "COMPLETED")
    said = cluster.output(job)
    assert "hang: no progress for 2 s at 5); starting again" in said
    assert "Fatal Python error: Aborted" in said and "train.py" in said
    assert said.count("step: 5\n") == said.count("step: 6\n") == 1
    found = state(cluster, tmp_path)
    assert (found.status, found.step, found.attempt) == ("done", LAST, 2)
    for node in ("ip-10-0-128-11", "ip-10-0-128-12"):
        assert cluster.run("pgrep -f 'sleep 611'", node=node) == ""
    cluster.settle()


def test_a_stop_that_comes_before_the_step_is_there_stops_it(cluster: Cluster, tmp_path: Path) -> None:
    job = launch(cluster, last=2000)
    cluster.wait("the launcher runs", lambda: cluster.run("cat /fsx/job/run/run_state.json").startswith("{"))
    cluster.run(f"scancel --batch --signal=TERM {job}")
    ended(cluster, job, "FAILED")
    assert "ExitCode=3:0" in cluster.run(f"scontrol -o show job {job}")
    assert state(cluster, tmp_path).status == "preempted"
    cluster.settle()


def test_warned_of_the_time_limit_the_job_goes_on_under_its_id(cluster: Cluster, tmp_path: Path) -> None:
    """And with the arguments that it was submitted with, since nothing else tells it how far to go."""
    job = launch(cluster)
    cluster.wait("it trains", lambda: "step: 3" in cluster.output(job))
    cluster.run(f"scancel --batch --signal=USR1 {job}")
    ended(cluster, job, "PENDING")
    cluster.wait("the nodes are free", lambda: cluster.states() == {"idle"})
    # Slurm itself waits two minutes; within the second of the requeue, nodes refuse a job of the same number
    cluster.run(f"scontrol update jobid={job} StartTime=now+2", user="ubuntu")
    ended(cluster, job, "COMPLETED")
    said = cluster.output(job)
    assert {f"{rank}: rank {rank} is told to stop" for rank in (0, 1)} <= set(said.splitlines())
    assert said.count("step: 3\n") == 1 and f"step: {LAST}" in said
    found = state(cluster, tmp_path)
    assert (found.status, found.attempt, found.job_id) == ("done", 2, job)
    cluster.settle()
