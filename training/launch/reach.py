"""How signals come to the ranks of a command: processes of this machine, or tasks of a Slurm job.

Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_CLEAR_SECONDS, _POLL_SECONDS = 10.0, 0.05
_ASK_SECONDS = 60.0  # Slurm's commands wait for a controller that is down, and for a node that is gone

Process: TypeAlias = "subprocess.Popen[bytes]"


class Reach(Protocol):
    """How signals come to the ranks of a command."""

    def start(self, argv: Sequence[str], output: int, environment: Mapping[str, str] | None) -> Process:
        """Start the command; both its outputs go to a descriptor."""

    def send(self, number: int) -> None:
        """Send a signal to every process that works for the command."""

    def stop(self, process: Process) -> bool:
        """Ask the command to save and leave; whether there was somebody to ask."""

    def clear(self) -> None:
        """End what a command that has ended left behind."""


class OnThisMachine:
    """The ranks are below this process: also those whose own parent is gone, when `adopt_orphans` was called.

    The command has a session of its own, so that Ctrl-C comes to the launcher alone, which tells it once.
    """

    def start(self, argv: Sequence[str], output: int, environment: Mapping[str, str] | None) -> Process:
        """See Reach."""
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
            preexec_fn=stop_with_parent,
        )

    def send(self, number: int) -> None:
        """To all descendants, whatever sessions they are in."""
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self, process: Process) -> bool:
        """To the command only, which tells its own (torchrun does)."""
        process.send_signal(signal.SIGTERM)
        return True

    def clear(self) -> None:
        """As a Slurm step's end does: ranks that outlive torchrun would keep GPUs and ports."""
        until = time.monotonic() + _CLEAR_SECONDS
        while descendants(os.getpid()) and time.monotonic() < until:
            self.send(signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(_POLL_SECONDS)


@dataclass(frozen=True)
class UnderSlurm:
    """The ranks are tasks of a job step. srun itself takes SIGTERM as an order to kill them."""

    job_id: str

    def start(self, argv: Sequence[str], output: int, environment: Mapping[str, str] | None) -> Process:
        """See Reach."""
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)

    def send(self, number: int) -> None:
        """To the processes of the job's steps, not to the batch script; srun ends with its step."""
        self._signal(number)

    def stop(self, process: Process) -> bool:
        """To the same: torchrun and its ranks get it, and take the second one for the first."""
        return self._signal(signal.SIGTERM)

    def clear(self) -> None:
        """Slurm leaves nothing of a step."""

    def _signal(self, number: int) -> bool:
        """To each step by its name: SIGKILL to the job would cancel it, the launcher included."""
        steps = self._steps()
        for step in steps:
            _ask(["scancel", f"--signal={signal.Signals(number).name.removeprefix('SIG')}", step])
        return bool(steps)

    def _steps(self) -> list[str]:
        listed = _ask(["squeue", "--noheader", "--steps", f"--jobs={self.job_id}", "--format=%i"]).split()
        return [step for step in listed if step.rpartition(".")[2].isdigit()]  # not .batch, not .extern


def descendants(pid: int) -> list[int]:
    """The processes below one, deepest last."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for known in found:
        found += children.get(known, [])
    return found[1:]


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent ends, in place of the machine's first."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def stop_with_parent() -> None:
    """In a new child: be told to stop when the launcher is killed, since nobody could tell it later."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


_libc = ctypes.CDLL(None)


def _prctl(option: int, value: int) -> None:
    _libc.prctl(option, value, 0, 0, 0)


def _ask(command: list[str]) -> str:
    """What a command of Slurm's prints; nothing where it is missing or does not answer in time."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=_ASK_SECONDS, check=False
        ).stdout
    return ""
