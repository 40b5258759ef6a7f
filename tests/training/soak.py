"""Random faults on a small job of two ranks, each of which must end on the undisturbed run's loss curve.

`make soak` (FAULTS=100, SEED=...) runs it by itself; the suite runs a few. What is chosen at random comes
from the seed that each line names: `make soak FAULTS=1 SEED=that` breaks the same thing at the same step
again. The moment within the step is the machine's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.training import ranks
from tests.training.conftest import write_job
from training import runstate
from training.console import EXIT_DONE, EXIT_STOPPED
from training.launch.supervisor import Supervisor

WORLD = 2
STEPS = 12
JOB = {"num_steps": STEPS, "checkpoint_every": 3, "hang_seconds": 3, "step_timeout_seconds": 30}
KINDS = ("kill", "freeze", "terminate", "flip", "truncate", "no space")
ATTEMPT_SECONDS = 100.0
_GRACE_SECONDS = 15.0
_NO_SPACE_BYTES = 4096
Curve = dict[int, tuple[str, str]]


@dataclass(frozen=True)
class Fault:
    """What is broken, in which rank, once which step is done and how long after."""

    kind: str
    rank: int
    step: int
    delay_seconds: float
    place: float
    """Where in the checkpoint: part of its bytes."""

    def __str__(self) -> str:
        return f"{self.kind}, rank {self.rank}, {self.delay_seconds:.2f} s after step {self.step}"


def choose(seed: int) -> Fault:
    """The fault of a seed. A checkpoint is damaged when there is one."""
    source = random.Random(seed)  # noqa: S311 - not for secrets
    kind = source.choice(KINDS)
    first = 4 if kind in ("flip", "truncate") else 0
    step = source.randrange(first, STEPS)
    return Fault(kind, source.randrange(WORLD), step, source.random() * 0.3, source.random())


@dataclass
class Attempt:
    """The ranks of one attempt after another; the fault strikes once."""

    directory: Path
    fault: Fault | None
    _ranks: list[BaseProcess] = field(default_factory=list)
    _due: float | None = None

    def run(self) -> int:
        """Start the ranks and wait for them, breaking something on the way."""
        self._ranks = ranks.fork(self.directory, WORLD)
        until, failed = time.monotonic() + ATTEMPT_SECONDS, False
        while any(process.is_alive() for process in self._ranks):
            self._strike_when_due()
            if not failed and any(process.exitcode for process in self._ranks):
                failed, until = True, time.monotonic() + _GRACE_SECONDS
            if time.monotonic() > until:
                for process in self._ranks:
                    process.kill()
            time.sleep(0.01)
        return max(abs(process.exitcode or 0) for process in self._ranks)

    def stop(self) -> None:
        """Nobody asks for it."""
        raise AssertionError("the soak stops no attempt")

    def end(self) -> None:
        """Nor for this."""
        raise AssertionError("the soak ends no attempt")

    def _strike_when_due(self) -> None:
        if self.fault is None:
            return
        if self._due is None and _last_step(self.directory) >= self.fault.step:
            self._due = time.monotonic() + self.fault.delay_seconds
        if self._due is not None and time.monotonic() >= self._due and self._can_be_survived(self.fault):
            with contextlib.suppress(
                ProcessLookupError, FileNotFoundError
            ):  # it ended, or was pruned, just now
                self._strike(self.fault, self._ranks[self.fault.rank].pid or 0)
            self.fault = None

    def _can_be_survived(self, fault: Fault) -> bool:
        """The only checkpoint is not damaged: a job without a good one refuses to start, as it should."""
        checkpoints = list((self.directory / "checkpoints").glob("step-*"))
        return fault.kind not in ("flip", "truncate") or len(checkpoints) >= 2

    def _strike(self, fault: Fault, pid: int) -> None:
        if fault.kind == "freeze":
            os.kill(pid, signal.SIGSTOP)
        elif fault.kind == "terminate":
            os.kill(pid, signal.SIGTERM)
        elif fault.kind == "no space":
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (_NO_SPACE_BYTES, resource.RLIM_INFINITY))
        else:
            os.kill(pid, signal.SIGKILL)
            if fault.kind in ("flip", "truncate"):
                _damage(self.directory, fault)


def _damage(directory: Path, fault: Fault) -> None:
    """Change one bit of the newest checkpoint, or cut one of its files short."""
    newest = max((directory / "checkpoints").glob("step-*"))
    files = sorted(path for path in newest.rglob("*") if path.is_file() and path.stat().st_size)
    path = files[int(fault.place * len(files))]
    content = bytearray(path.read_bytes())
    at = int(fault.place * len(content))
    if fault.kind == "truncate":
        del content[at:]
    else:
        content[at] ^= 1
    path.write_bytes(content)


def disturbed(directory: Path, fault: Fault | None) -> int:
    """Run the job with a fault to its end; returns how often it was started.

    AssertionError where it ends badly.
    """
    write_job(directory, **JOB)
    attempt = Attempt(directory, fault)
    run = directory / "run"
    code = EXIT_STOPPED
    while code == EXIT_STOPPED:  # told to stop, it is submitted again
        code = Supervisor(run, attempt, pause=lambda _seconds: None).run()
    assert code == EXIT_DONE, f"exit code {code}"
    state = runstate.read_state(run)
    assert (state.status, state.step) == (runstate.DONE, STEPS), state
    return state.attempt


def curves(directory: Path) -> list[tuple[int, str, str]]:
    """Step, loss and norm of the gradient to the last bit, of every line of every attempt.

    A line that a full disk cut short is none: its step was not finished, and comes again.
    """
    found = []
    for text in (directory / "run" / "metrics.jsonl").read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            line = json.loads(text)
            found.append((line["step"], line["loss"].hex(), line["grad_norm"].hex()))
    return found


def differing(directory: Path, reference: list[tuple[int, str, str]]) -> list[str]:
    """What is wrong with a run's curve: a step that was never done, or a number that differs."""
    found, right = curves(directory), set(reference)
    wrong = [f"step {line[0]} differs" for line in found if line not in right]
    return wrong + [f"step {line[0]} is missing" for line in reference if line not in found]


def _last_step(directory: Path) -> int:
    try:
        text = (directory / "run" / "metrics.jsonl").read_text()
        return int(json.loads(text[: text.rfind("\n")].rpartition("\n")[2])["step"])
    except (FileNotFoundError, ValueError):
        return 0


def main(arguments: list[str] | None = None) -> int:
    """Break the job so many times; 1 at the first that does not end on the curve."""
    parser = argparse.ArgumentParser(prog="python -m tests.training.soak")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None, help="of the first fault; default: a random one")
    options = parser.parse_args(arguments)
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    ranks.start_server()
    work = Path(tempfile.mkdtemp(prefix="soak-"))
    disturbed(work / "undisturbed", None)
    reference = curves(work / "undisturbed")
    for number in range(options.faults):
        seed, directory = first + number, work / f"seed-{first + number}"
        begun = time.monotonic()
        problem = _one(directory, choose(seed), reference)
        took = f"{time.monotonic() - begun:.1f} s"
        what = f"{number + 1} of {options.faults}, seed {seed}: {choose(seed)}"
        print(f"{what}: {problem or 'on the curve'} ({took})", flush=True)
        if problem:
            print(f"again: make soak FAULTS=1 SEED={seed}; its files: {directory}", file=sys.stderr)
            return 1
        shutil.rmtree(directory)
    shutil.rmtree(work)
    return 0


def _one(directory: Path, fault: Fault, reference: list[tuple[int, str, str]]) -> str:
    try:
        disturbed(directory, fault)
    except AssertionError as error:
        return f"did not end well: {error}"
    return ", ".join(differing(directory, reference))


if __name__ == "__main__":
    sys.exit(main())
