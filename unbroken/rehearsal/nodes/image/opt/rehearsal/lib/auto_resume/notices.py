"""News of the running step: the plugin's lines, received over a socket and told from those of older steps.

``start JOB STEP`` comes from srun, ``exit JOB STEP TASK STATUS HOST`` from the node of a task that failed.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

READ_TIMEOUT_SECONDS = 2.0


@dataclass(frozen=True)
class TaskExit:
    """A task that ended with anything but success; ``status`` is the raw wait status (exit 1 is 256)."""

    step: str
    task: str
    status: int
    node: str

    @property
    def exit_code(self) -> int:
        """The status as a shell would have it: 128 and the number for a signal."""
        signal = self.status & 0x7F
        return 128 + signal if signal else (self.status >> 8) & 0xFF


class Notices:
    """Takes in lines and keeps what is true of the current step of one job."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._newest_over = -1
        self.step: str | None = None
        self.failure: TaskExit | None = None

    def begin(self) -> None:
        """A new step is about to start: whatever is still said of older ones comes too late."""
        if self.step is not None:
            self._newest_over = max(self._newest_over, int(self.step))
        self.step, self.failure = None, None

    def take(self, line: str) -> None:
        """Take one line in; lines of other jobs and older steps, and odd ones, are ignored."""
        words = line.split()
        if len(words) < 3 or words[1] != self._job or not words[2].isdigit():
            return
        if int(words[2]) <= self._newest_over:
            return
        if words[0] == "start" and len(words) == 3:
            self.step = words[2]
        elif words[0] == "exit" and len(words) == 6 and self.failure is None:
            self.step = words[2]
            self.failure = TaskExit(words[2], words[3], int(words[4]), words[5])


class Listener:
    """The socket the plugin's lines arrive at."""

    def __init__(self, address: str) -> None:
        self._socket = socket.create_server((address, 0), backlog=128)

    @property
    def where(self) -> str:
        """``address:port`` for the plugin."""
        address, port = self._socket.getsockname()[:2]
        return f"{address}:{port}"

    def close(self) -> None:
        self._socket.close()

    def receive(self, timeout: float) -> str | None:
        """One line; None where none came within ``timeout`` seconds."""
        self._socket.settimeout(timeout)
        try:
            connection, _ = self._socket.accept()
        except socket.timeout:  # noqa: UP041  (an alias of TimeoutError only since Python 3.10)
            return None
        with connection:
            connection.settimeout(READ_TIMEOUT_SECONDS)
            try:
                with connection.makefile() as lines:
                    return lines.readline()
            except OSError:
                return None
