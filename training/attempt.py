"""One start of a rank, from its first moment: its number, its clock, its heartbeat and its wish to stop.

Standard library only: all of this is in place before torch is imported, so that a signal, a hang or the time
spent there is not lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path

from training import runstate
from training.config import JobConfig
from training.ledger import NAME, Ledger
from training.phases import Limits, Phases
from training.runstate import RunState
from training.stop import StopWish, deadlines
from training.watch import start as watch
from training.watch.heartbeat import process_start


@dataclass
class Attempt:
    """What a rank knows of its start. Only the first rank counts attempts and writes files."""

    directory: Path
    """The job directory."""
    rank: int
    state: RunState
    wish: StopWish
    phases: Phases

    @property
    def run_directory(self) -> Path:
        """Where everything but checkpoints is written."""
        return self.directory / "run"

    def note(self, **changes: object) -> None:
        """Change the run's state, and on the first rank the file."""
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]  # named by the caller
        if self.rank == 0:
            runstate.write_state(self.run_directory, self.state)


def begin(
    config: JobConfig, directory: Path, wish: StopWish, environment: MutableMapping[str, str] = os.environ
) -> Attempt:
    """Count the attempt and start its clock. The number comes from the file: a retried step has the old
    environment. Raises OSError."""
    rank, run_directory = int(environment["RANK"]), directory / "run"
    run_directory.mkdir(parents=True, exist_ok=True)
    wish.margin_seconds = config.stop_margin_seconds
    wish.deadlines = deadlines(config.stop_at, environment)
    state = RunState(status=runstate.RUNNING, job_id=environment.get("SLURM_JOB_ID", ""))
    attempt = Attempt(directory, rank, state, wish, _phases(config, run_directory, environment))
    if rank == 0:
        _count(attempt)
    return attempt


def _phases(config: JobConfig, run_directory: Path, environment: MutableMapping[str, str]) -> Phases:
    limits = Limits(config.init_timeout_seconds, config.hang_seconds, config.step_timeout_seconds)
    heart = watch.begin(run_directory, environment, config.hang_seconds) if config.hang_seconds else None
    return Phases(limits, heart)


def _count(attempt: Attempt) -> None:
    runstate.clear_failures(attempt.run_directory)
    before = runstate.read_state(attempt.run_directory)
    attempt.note(attempt=before.attempt + 1, step=before.step, checkpoint=before.checkpoint)
    for name in ("metrics.jsonl", "validation.jsonl"):
        runstate.end_last_line(attempt.run_directory / name)
    age = _age()
    path = attempt.run_directory / NAME
    attempt.phases.ledger = Ledger(path, attempt.state.attempt, attempt.state.job_id, time.time() - age)
    attempt.phases.started_before(age)


def _age() -> float:
    """Seconds since this process started, the interpreter's own start included."""
    started = (process_start(os.getpid()) or 0) / os.sysconf("SC_CLK_TCK")
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
