"""An attempt of a command that knows nothing of us: what it prints becomes the run's state and its ledger.

Standard library only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from training import runstate
from training.launch.command import Command
from training.launch.output import Errors, Progress, Reader
from training.ledger import NAME, Ledger
from training.runstate import RunState


@dataclass(frozen=True)
class Patience:
    """Seconds without progress after which a command counts as hung; 0: never."""

    start: float
    """To the first progress."""
    stall: float
    """Between two steps."""


@dataclass
class Account:
    """The ledger of one attempt, from nothing but the moments at which its step changed."""

    ledger: Ledger
    since: float = field(default_factory=time.monotonic)
    step: int | None = None

    def look(self, progress: Progress) -> None:
        """Book the time since the last change, if this is one."""
        if progress.step is None or progress.first is None or progress.step == self.step:
            return
        if self.step is None:
            self._spend("start")
            self.ledger.resumed(max(0, progress.first - 1))
        else:
            self._spend("step")
        self.step = progress.step
        self.ledger.reached(self.step)

    def end(self, status: str) -> None:
        """The attempt is over. Of what a failed one did after its last step, nothing came."""
        left = "start" if self.step is None else "end"
        self._spend("down" if status == runstate.FAILED else left)
        self.ledger.end(status)

    def _spend(self, phase: str) -> None:
        now = time.monotonic()
        self.ledger.spend(phase, now - self.since)
        self.since = now


@dataclass
class ForeignStep:
    """One command, run as often as the supervisor says. Its progress stands for what it has saved."""

    run_directory: Path
    command: Command
    progress: Progress
    patience: Patience
    job_id: str = ""
    readers: list[Reader] = field(default_factory=list)
    """Others who want the lines."""
    _stopping: bool = False
    _account: Account | None = None

    def run(self) -> int:
        """Run the command once and write down how it went."""
        before = runstate.read_state(self.run_directory)
        attempt = before.attempt + 1
        self._write(runstate.RUNNING, attempt, before.step)
        errors = Errors()
        self.progress.begin()
        self.command.readers = [*self.readers, self.progress, errors]
        self.command.complaint = self._look
        self._account = Account(Ledger(self.run_directory / NAME, attempt, self.job_id, time.time()))
        code = self.command.run()
        self._look()
        status, reason = self._outcome(code, self.command.ended_for or errors.first)
        self._account.end(status)
        self._write(status, attempt, max(before.step, self.progress.best), reason)
        return code

    def stop(self) -> None:
        """Ask the command to leave. That it saves before is its own affair."""
        self._stopping = True
        self.command.stop()

    def end(self) -> None:
        """End the command now."""
        self._stopping = True
        self.command.end()

    def _look(self) -> str | None:
        """Book the progress; why the command must be ended, or None."""
        self.progress.look()
        step = self.progress.step
        if self._account is not None:
            self._account.look(self.progress)
        limit = self.patience.start if step is None else self.patience.stall
        if limit <= 0 or self.progress.still_seconds() < limit:
            return None
        return f"hang: no progress for {limit:.0f} s " + ("since the start" if step is None else f"at {step}")

    def _outcome(self, code: int, error: str) -> tuple[str, str]:
        if self._stopping:
            return runstate.PREEMPTED, "told to stop"
        if code == 0:
            return runstate.DONE, ""
        if error:
            runstate.write_failure(self.run_directory, 0, error, from_a_peer=False)
        return runstate.FAILED, error or f"exit code {code}"

    def _write(self, status: str, attempt: int, step: int, reason: str = "") -> None:
        state = RunState(status=status, step=step, reason=reason, job_id=self.job_id, attempt=attempt)
        runstate.write_state(self.run_directory, state)
