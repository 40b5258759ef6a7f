"""Runs a step until the work is done, given up or stopped, and decides after each failure.

Who starts again what, so that exactly one does: docs/reference/job.md, "When something breaks". Standard
library only.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Protocol

from training import runstate
from training.console import EXIT_CANNOT_START, EXIT_DONE, EXIT_FAILED, EXIT_STOPPED, tell
from training.errors import JobError
from training.files import replace_text
from training.launch.budget import Budget, Decision, after_failure
from training.launch.failures import WITHOUT_A_WORD
from training.launch.lock import alone

_REQUEUED = "the job was queued again from outside, its first node lost"
_NO_TIME = "the time limit came before a new checkpoint"
SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP)
_LOCK_PATIENCE_SECONDS = 300.0


class Step(Protocol):
    """All ranks of one attempt."""

    def run(self) -> int:
        """Start the ranks and wait for them; returns 0 when all ended well."""

    def stop(self) -> None:
        """Ask all ranks to save and leave; called from a signal handler, and perhaps before `run`."""

    def end(self) -> None:
        """End all ranks now; called like `stop`."""


@dataclass
class Supervisor:
    """Runs one step as often as the budget allows."""

    run_directory: Path
    step: Step
    job_id: str = ""
    pause: Callable[[float], object] | None = None
    """Waits so many seconds, or until told to stop; a test passes its own."""
    requeue_on_machine_fault: bool = False
    """Queue the job again where a machine is to blame, since nobody else exchanges it."""
    longest_pause_seconds: float = 60.0
    restart_count: int = 0
    """How often Slurm has queued the job again."""
    stop_signal: int | None = None
    _first_step: int = 0
    """Saved when this launcher began."""
    _spent: Budget | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> int:
        """Start the step as often as the budget allows; returns the exit code."""
        self._first_step = runstate.read_state(self.run_directory).step
        if self._was_cut_off() and not self._again(_REQUEUED).again:
            return EXIT_FAILED
        while self.stop_signal is None:
            code = self._start_once()
            status = runstate.read_state(self.run_directory).status
            if status == runstate.DONE or (code == 0 and status != runstate.PREEMPTED):
                return EXIT_DONE
            if self.stop_signal is not None or status == runstate.PREEMPTED:
                return self._stop()
            if final := runstate.final_failure(self.run_directory):
                self._note_end(final)
                say(f"cannot run the job: {final}")
                return EXIT_CANNOT_START
            decision = self._again(self._error(code))
            if not decision.again:
                return EXIT_FAILED
            if decision.machine and self.requeue_on_machine_fault and self.job_id:
                return self._requeue("a machine is to blame, and nothing else exchanges it here")
            (self.pause or self.wait)(min(decision.pause_seconds, self.longest_pause_seconds))
        return EXIT_STOPPED  # told to stop in the pause between two attempts: everything is saved

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Signal handler: remember it and have the ranks save and leave; a second Ctrl-C ends them."""
        first = self.stop_signal is None
        self.stop_signal = self.stop_signal or number
        self._stopped.set()
        if first:
            self.step.stop()
        elif number == signal.SIGINT:
            self.step.end()

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds, or until told to stop; whether it was."""
        return self._stopped.wait(seconds)

    def _was_cut_off(self) -> bool:
        """Whether the launcher of an earlier start of this job ended without a word, as with its node.

        Those starts count: a job that Slurm queues again and again must end too.
        """
        state = runstate.read_state(self.run_directory)
        open_end = state.status in (runstate.STARTING, runstate.RUNNING)
        return self.restart_count > 0 and open_end and state.job_id == self.job_id

    def _start_once(self) -> int:
        runstate.clear_failures(self.run_directory)
        before = runstate.read_state(self.run_directory)
        starting = replace(before, status=runstate.STARTING, reason="", stopped_by="", job_id=self.job_id)
        runstate.write_state(self.run_directory, starting)
        return self.step.run()

    def _error(self, code: int) -> str:
        """The error to judge by. Ranks that only lost a peer say that one of them is gone, not why."""
        if first := runstate.first_failure(self.run_directory):
            return first
        if any((self.run_directory / "failures").glob("rank-*.json")):
            return WITHOUT_A_WORD
        return f"the step ended with exit code {code}"

    def _again(self, error: str) -> Decision:
        step = runstate.read_state(self.run_directory).step
        self._spent, decision = after_failure(self._budget(), error, step)
        replace_text(self.run_directory / "launcher.json", json.dumps(asdict(self._spent)) + "\n")
        if decision.again:
            say(f"failed at saved step {step} ({error}); starting again, {decision.reason}")
        else:
            self._note_end(error)
            say(f"given up at saved step {step}: {decision.reason}\n  error: {error}")
        return decision

    def _note_end(self, error: str) -> None:
        """Also where the ranks had no time to: a run that nobody starts again does not run."""
        state = runstate.read_state(self.run_directory)
        runstate.write_state(self.run_directory, replace(state, status=runstate.FAILED, reason=error))

    def _budget(self) -> Budget:
        """What is left: of this Slurm job's, also over its requeues; a new submission has a new one."""
        return self._spent or self._of_this_job() or Budget(job_id=self.job_id)

    def _of_this_job(self) -> Budget | None:
        kept = runstate.read_record(self.run_directory / "launcher.json", Budget)
        return kept if kept and self.job_id and kept.job_id == self.job_id else None

    def _stop(self) -> int:
        state = runstate.read_state(self.run_directory)
        has_saved = state.status == runstate.PREEMPTED
        if not has_saved:
            say("stopped before the ranks had saved; a restart goes on from the last checkpoint")
        if self.job_id and (self.stop_signal == signal.SIGUSR1 or state.stopped_by == "time limit"):
            # a time limit too short for a checkpoint would be followed by another one for ever
            if state.step <= self._first_step and not self._again(_NO_TIME).again:
                return EXIT_FAILED
            return self._requeue("the time limit is near")
        return EXIT_STOPPED if has_saved else EXIT_FAILED

    def _requeue(self, why: str) -> int:
        say(f"{why}; the job is queued again")
        return subprocess.run(["scontrol", "requeue", self.job_id], check=False).returncode


def supervise(supervisor: Supervisor) -> int:
    """Run a supervisor with the signals that end a job bound to it."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup's wish stands
            signal.signal(number, supervisor.handle)
    if supervisor.requeue_on_machine_fault:
        say("srun takes no --auto-resume with a container here: a machine's fault queues the job again")
    patience = _LOCK_PATIENCE_SECONDS if supervisor.job_id else 0.0
    try:
        with alone(supervisor.run_directory, patience, say, supervisor.wait):
            return supervisor.run()
    except (OSError, JobError) as error:
        say(f"cannot run the job: {error}")
        return EXIT_CANNOT_START


def say(message: str) -> None:
    """Tell a person, in the job's log."""
    tell(f"launcher: {message}")
