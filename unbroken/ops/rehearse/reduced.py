"""The reduced rehearsal: the real deploy and destroy, and the job on this machine with a rank killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from unbroken import render
from unbroken.ops.processes import running
from unbroken.ops.rehearse import deployment
from unbroken.ops.rehearse.context import Context
from unbroken.ops.rehearse.drill import STEPS_PAST_CHECKPOINT
from unbroken.ops.rehearse.options import overlay
from unbroken.ops.stages import Stage, StageFailed

RANKS = 2
JOB_SECONDS = 600.0
POLL_SECONDS = 0.1
JOB_ID = "local"
KILLED = "killing rank"
"""What the local launcher says when it kills a rank."""


def run(context: Context) -> None:
    """Every stage in its order; destroy and what follows only where the cluster is not to be kept."""
    deployment.start_aws(context)
    deployment.bootstrap(context)
    deployment.deploy(context)
    train(context)
    if context.options.keep:
        return
    deployment.destroy(context)
    deployment.look_for_leftovers(context)
    deployment.stop_aws(context)


def train(context: Context) -> None:
    """Run the rendered job with its local launcher; a rank is killed after the first checkpoint."""
    with context.stages.stage("training", f"Train with {RANKS} ranks on this machine") as stage:
        folder = _write_job(context)
        log = context.places.log("job")
        argv = [sys.executable, "-m", "training.local", "--config", str(folder / "job.yaml")]
        argv += ["--ranks", str(RANKS), *_fault(context)]
        context.events.emit("job", "submitted", JOB_ID, id=JOB_ID, state="RUNNING")
        with running(argv, log=log, cwd=context.root, env=os.environ) as process:
            try:
                _follow(context, stage, process, folder / "run" / "metrics.jsonl", log)
            finally:
                context.metrics = read_metrics(folder / "run" / "metrics.jsonl")
        state = "COMPLETED" if process.returncode == 0 else "FAILED"
        context.events.emit("job", "state", JOB_ID, id=JOB_ID, state=state)
        if process.returncode != 0:
            raise StageFailed(f"the job ended with exit code {process.returncode}", f"its log is {log}", log)


def _write_job(context: Context) -> Path:
    """The job's folder, as new: what an earlier run left there would be resumed."""
    folder = context.places.out / "job"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in render.job(context.config, overlay(context.options, sys.executable)).items():
        (folder / name).write_text(text)
    return folder


def _fault(context: Context) -> list[str]:
    """Arguments that make the launcher kill its last rank some steps past the first checkpoint."""
    if context.options.fault == "none":
        return []
    every = overlay(context.options).checkpoint_every or 1
    return ["--kill-rank", str(RANKS - 1), "--at-step", str(every + STEPS_PAST_CHECKPOINT)]


def _follow(
    context: Context, stage: Stage, process: subprocess.Popen[bytes], metrics: Path, log: Path
) -> None:
    """Show the steps, and note the moment of the fault, until the job ends."""
    deadline = time.monotonic() + JOB_SECONDS
    killed, done = False, 0
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise StageFailed(f"the job was not done after {JOB_SECONDS:.0f} s", f"its log is {log}", log)
        lines = read_metrics(metrics)
        if not killed and KILLED in log.read_text(errors="replace"):
            killed = True
            _tell_fault(context, stage, lines)
        if len(lines) != done:
            done = len(lines)
            stage.detail(f"step {lines[-1]['step']}, loss {lines[-1]['loss']:.4f}")
        time.sleep(POLL_SECONDS)


def _tell_fault(context: Context, stage: Stage, lines: list[dict[str, Any]]) -> None:
    step = int(lines[-1]["step"]) if lines else 0
    description = f"rank {RANKS - 1} of the local run is killed"
    context.events.emit("fault", "kill_task", "this machine", description=description, step=step)
    stage.detail(f"rank {RANKS - 1} killed after step {step}")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a metrics file; none before it exists."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines() if line.strip()]
