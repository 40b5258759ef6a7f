"""One attempt of a job as a command: its output passed on and read, a stall ended, a stop passed on.

Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from training.launch.output import Reader, follow

POLL_SECONDS = 0.05
# Between the signal that makes Python write its stacks (PYTHONFAULTHANDLER) and the one that ends everything
STACKS_SECONDS = 5.0
# How long the last lines of a command that has ended may take to arrive
_DRAIN_SECONDS = 10.0


class Reach(Protocol):
    """How signals come to the ranks of a command."""

    def send(self, number: int, process: subprocess.Popen[bytes]) -> None:
        """Send a signal to every process that works for the command."""

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Ask the command to save and leave."""


class OnThisMachine:
    """The ranks are below the command's own process."""

    def send(self, number: int, process: subprocess.Popen[bytes]) -> None:
        """To the process and all its descendants, whatever sessions they are in."""
        for pid in [*descendants(process.pid), process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """To the command only, which tells its own (torchrun does)."""
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)


@dataclass(frozen=True)
class UnderSlurm:
    """The ranks are tasks of a job step. srun itself takes SIGTERM as an order to kill them."""

    job_id: str

    def send(self, number: int, process: subprocess.Popen[bytes]) -> None:
        """To the processes of the job's steps, not to the batch script; srun ends with its step."""
        self._signal(signal.Signals(number).name.removeprefix("SIG"))

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """To the same: torchrun and its ranks get it, and take the second one for the first."""
        self._signal("TERM")

    def _signal(self, name: str) -> None:
        subprocess.run(["scancel", f"--signal={name}", self.job_id], check=False)


@dataclass
class Command:
    """A command that is one attempt of a job."""

    argv: Sequence[str]
    reach: Reach
    readers: list[Reader] = field(default_factory=list)
    environment: Mapping[str, str] | None = None
    complaint: Callable[[], str | None] = lambda: None
    """Why the command must be ended now, asked again and again; None while all is well."""
    ended_for: str = ""
    """The complaint that it was ended for."""
    _process: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Run it to its end; returns its exit code, 128 and the signal's number where one ended it."""
        self.ended_for = ""
        receiving, sending = os.pipe()
        self._process = subprocess.Popen(
            self.argv, stdin=subprocess.DEVNULL, stdout=sending, stderr=sending, env=self.environment
        )
        os.close(sending)
        arguments = (receiving, sys.stdout.buffer, self.readers)
        reading = threading.Thread(target=follow, args=arguments, daemon=True)
        reading.start()
        code = self._wait(self._process)
        reading.join(_DRAIN_SECONDS)  # a process that outlived the command may hold its output open
        return code if code >= 0 else 128 - code

    def stop(self) -> None:
        """Ask it to save and leave."""
        if self._process is not None and self._process.poll() is None:
            self.reach.stop(self._process)

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        while (code := process.poll()) is None:
            if not self.ended_for and (why := self.complaint()):
                self.ended_for = why
                self._end(process)
            time.sleep(POLL_SECONDS)
        return code

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Have the stacks written, then leave nothing; a stopped process takes no signal but the last."""
        below = descendants(process.pid)
        self.reach.send(signal.SIGABRT, process)
        until = time.monotonic() + STACKS_SECONDS
        while process.poll() is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        self.reach.send(signal.SIGKILL, process)
        for pid in below:  # those whose parent has gone already
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


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
