"""One attempt of a job as a command: its output passed on and read, a stall ended, a stop passed on.

Standard library only.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from training.console import tell
from training.launch.output import Reader, follow
from training.launch.reach import Process, Reach

POLL_SECONDS = 0.05
# Between the signal that makes Python write its stacks (PYTHONFAULTHANDLER) and the one that ends everything,
# and until that one is sent again
STACKS_SECONDS = 5.0
# How long to wait before asking again where there are no ranks yet to be told to stop
_ASK_AGAIN_SECONDS = 1.0
# How long the last lines of a command that has ended may take to arrive
_DRAIN_SECONDS = 10.0


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
    _wish: str = ""

    def run(self) -> int:
        """Run it to its end; returns its exit code, 128 and the signal's number where one ended it."""
        self.ended_for = ""
        receiving, sending = os.pipe()
        try:
            process = self.reach.start(self.argv, sending, self.environment)
        except OSError:
            os.close(receiving)
            raise
        finally:
            os.close(sending)
        arguments = (receiving, sys.stdout.fileno(), self.readers)
        reading = threading.Thread(target=follow, args=arguments, daemon=True)
        reading.start()
        try:
            code = self._wait(process)
        finally:
            self.reach.clear()
        reading.join(_DRAIN_SECONDS)  # a process that outlived the command may hold its output open
        return code if code >= 0 else 128 - code

    def stop(self) -> None:
        """Ask it to save and leave. From a signal handler, and perhaps before it has begun."""
        self._wish = self._wish or "stop"

    def end(self) -> None:
        """End it now."""
        self._wish = "end"

    def _wait(self, process: Process) -> int:
        told = False
        while (code := process.poll()) is None:
            if not self.ended_for and (why := self.complaint()):
                self.ended_for = why
                self._end(process)
            elif self._wish == "end":
                self.reach.send(signal.SIGKILL)
            elif self._wish == "stop" and not told:
                if told := self.reach.stop(process):
                    tell("launcher: the ranks are told to save and leave")
                else:
                    self._ended_within(process, _ASK_AGAIN_SECONDS)
            time.sleep(POLL_SECONDS)
        return code

    def _end(self, process: Process) -> None:
        """Have the stacks written, then leave nothing; a stopped process takes no signal but the last."""
        self.reach.send(signal.SIGABRT)
        while not self._ended_within(process, STACKS_SECONDS):
            self.reach.send(signal.SIGKILL)

    def _ended_within(self, process: Process, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return process.poll() is not None
