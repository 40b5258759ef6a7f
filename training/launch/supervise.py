"""The batch script's body: starts the job's step, and again after a failure that it may outlive.

On HyperPod `srun --auto-resume=1` itself retries a step whose node is bad; this program owns the case where
no hardware was at fault (ResumeAction=NONE) and every failure elsewhere. Slurm owns the requeue after a
lost batch host; this program asks for one only at the job's time limit. No torch here.

Exit codes: 0 trained to the end, or requeued; 1 given up; 2 could not start; 3 told to stop, and saved.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Protocol

from training import config, runstate
from training.launch.budget import Budget, after_failure

HYPERPOD_MARKER = Path("/opt/sagemaker_cluster")
EXIT_DONE, EXIT_GAVE_UP, EXIT_CANNOT_START, EXIT_STOPPED = 0, 1, 2, 3


class Step(Protocol):
    """All ranks of one attempt."""

    def run(self) -> int:
        """Start the ranks and wait for them; returns 0 when all ended well."""

    def stop(self) -> None:
        """Ask all ranks to save and leave; called from a signal handler while `run` waits."""


@dataclass
class SlurmStep:
    """A job step: one task a node, each of which starts the ranks of its node."""

    command: Sequence[str]
    job_id: str

    def run(self) -> int:
        """Run srun to its end."""
        return subprocess.run(self.command, check=False).returncode

    def stop(self) -> None:
        """Signal the tasks, not srun: srun takes SIGTERM as an order to kill them."""
        subprocess.run(["scancel", "--signal=TERM", self.job_id], check=False)


def srun_command(job_file: str, ranks_per_node: int, auto_resume: bool) -> list[str]:
    """The srun line. Nothing on it names a node or a port: a retried step runs it again word for word."""
    resume = ["--auto-resume=1"] if auto_resume else []
    task = [sys.executable, "-m", "training.launch.task"]
    options = ["--job-file", job_file, "--ranks-per-node", str(ranks_per_node)]
    return ["srun", *resume, "-l", "--kill-on-bad-exit=1", *task, *options]


@dataclass
class Supervisor:
    """Runs one step until the work is done, given up or stopped."""

    run_directory: Path
    step: Step
    job_id: str = ""
    pause: Callable[[float], object] | None = None
    """Waits so many seconds, or until told to stop; a test passes its own."""
    stop_signal: int | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> int:
        """Start the step as often as the budget allows; returns the exit code."""
        while self.stop_signal is None:
            code = self._start_once()
            status = runstate.read_state(self.run_directory).status
            if code == 0 or status == runstate.DONE:
                return EXIT_DONE
            if self.stop_signal is not None or status == runstate.PREEMPTED:
                return self._stop(status)
            if not self._again(code):
                return EXIT_GAVE_UP
        return EXIT_STOPPED  # told to stop in the pause between two attempts: everything is saved

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Signal handler: remember it and have the ranks save and leave."""
        first = self.stop_signal is None
        self.stop_signal = self.stop_signal or number
        self._stopped.set()
        if first:
            self.step.stop()

    def _start_once(self) -> int:
        runstate.clear_failures(self.run_directory)
        before = runstate.read_state(self.run_directory)
        starting = replace(before, status=runstate.STARTING, reason="", job_id=self.job_id)
        runstate.write_state(self.run_directory, starting)
        return self.step.run()

    def _again(self, code: int) -> bool:
        state = runstate.read_state(self.run_directory)
        error = runstate.first_failure(self.run_directory) or f"the step ended with exit code {code}"
        budget, decision = after_failure(self._budget(), error, state.step)
        text = json.dumps(asdict(budget)) + "\n"
        runstate.replace_text(self.run_directory / "launcher.json", text)
        if not decision.again:
            _say(f"given up at saved step {state.step}: {decision.reason}\n  error: {error}")
            return False
        _say(f"failed at saved step {state.step} ({error}); starting again, {decision.reason}")
        (self.pause or self._stopped.wait)(decision.pause_seconds)
        return True

    def _budget(self) -> Budget:
        try:
            content = json.loads((self.run_directory / "launcher.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Budget()
        return Budget(**content)

    def _stop(self, status: str) -> int:
        if status != runstate.PREEMPTED:
            _say("stopped before the ranks had saved; a restart goes on from the last checkpoint")
            return EXIT_GAVE_UP
        if self.stop_signal == signal.SIGUSR1 and self.job_id:
            _say("the time limit is near; the ranks have saved, and the job is queued again")
            return subprocess.run(["scontrol", "requeue", self.job_id], check=False).returncode
        return EXIT_STOPPED


def main(arguments: list[str] | None = None) -> int:
    """Entry point of job.sbatch; runs in the job directory."""
    parser = argparse.ArgumentParser(prog="python -m training.launch.supervise")
    parser.add_argument("--job-file", type=Path, required=True)
    parser.add_argument("--ranks-per-node", type=int, required=True)
    parser.add_argument("--no-auto-resume", action="store_true", help="plain srun, also on HyperPod")
    options = parser.parse_args(arguments)
    try:
        config.load(options.job_file)  # a wrong job file is said once, here, and not by every rank
    except config.JobConfigError as error:
        print(error, file=sys.stderr)
        return EXIT_CANNOT_START
    job_id = os.environ.get("SLURM_JOB_ID", "")
    resume = HYPERPOD_MARKER.is_dir() and not options.no_auto_resume
    command = srun_command(str(options.job_file), options.ranks_per_node, resume)
    run_directory = options.job_file.absolute().parent / "run"
    return supervise(Supervisor(run_directory, SlurmStep(command, job_id), job_id))


def supervise(supervisor: Supervisor) -> int:
    """Run a supervisor with the signals that end a job bound to it."""
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(number, supervisor.handle)
    try:
        return supervisor.run()
    except (OSError, ValueError) as error:
        _say(f"cannot run the job: {error}")
        return EXIT_CANNOT_START


def _say(message: str) -> None:
    print(f"launcher: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
