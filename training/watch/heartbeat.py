"""Heartbeats: what a rank does, since when and how long it may take, in memory that outlives the rank.

Standard library only: the watchdog must start in no time, and also watches what comes before torch.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import socket
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from training.files import own_directory, replace_bytes

PHASES = ("start", "load", "step", "data", "evaluate", "save", "end")
"""What a rank can be doing. The ledger's times have the same names."""
_LAYOUT = struct.Struct("<qqqqqdd")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder's name holds the user's id


@dataclass(frozen=True)
class Beat:
    """One rank's last sign of life."""

    pid: int
    started: int
    """Start of the process in the kernel's ticks; with the pid it names a process for ever."""
    rank: int
    phase: str
    step: int
    """Steps finished."""
    at: float
    """When the sign was given, in seconds of the machine's monotonic clock."""
    limit: float
    """Seconds after which the next sign is overdue; 0 for no limit."""

    def overdue(self, now: float) -> bool:
        """Whether the next sign should have come."""
        return self.limit > 0 and now - self.at > self.limit


class Heart:
    """A rank's side. A beat is a copy of 56 bytes into shared memory."""

    def __init__(self, directory: Path, rank: int) -> None:
        own_directory(directory)  # its place is known beforehand, in a folder that all may write to
        self._rank, self._pid = rank, os.getpid()
        self._started = process_start(self._pid) or 0
        path = directory / f"rank-{rank}"
        replace_bytes(path, self._packed("start", 0, 0.0))  # readers never see a short file
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _LAYOUT.size)

    def beat(self, phase: str, step: int, limit: float) -> None:
        """Give a sign: what begins now and how many seconds it may take until the next sign."""
        self._memory[:] = self._packed(phase, step, limit)

    def _packed(self, phase: str, step: int, limit: float) -> bytes:
        place = PHASES.index(phase)
        return _LAYOUT.pack(self._pid, self._started, self._rank, place, step, time.monotonic(), limit)


def heartbeats_of(run_directory: Path, port: str) -> Path:
    """Where the ranks of one run on this machine beat; `port` (of their rendezvous) sets attempts apart.

    Containers may share the memory, but not the numbers of processes: each has its own folder.
    """
    root = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else Path(tempfile.gettempdir())
    machine = f"{socket.gethostname()} {Path('/proc/self/ns/pid').stat().st_ino}"
    key = hashlib.sha256(f"{run_directory}\n{port}\n{machine}".encode()).hexdigest()[:16]
    return root / f"unbroken-{os.getuid()}-{key}"


def stacks_file(heartbeats: Path, rank: int) -> Path:
    """Where a rank writes its stacks when it is asked to."""
    return heartbeats / f"stacks-{rank}"


def read_beats(directory: Path) -> list[Beat]:
    """The beats of all ranks that have begun, by rank."""
    beats = [_read(path) for path in directory.glob("rank-*")]
    return sorted((beat for beat in beats if beat is not None), key=lambda beat: beat.rank)


def process_start(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; None when it is gone or a zombie."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def process_state(pid: int) -> str:
    """The kernel's letter for what a process does: R runs, S waits, D waits for a device, T is stopped."""
    fields = _stat(pid)
    return "" if fields is None else fields[0]


def is_alive(beat: Beat) -> bool:
    """Whether the process that gave the sign still is."""
    return process_start(beat.pid) == beat.started


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()  # the name before it may hold blanks


def _read(path: Path) -> Beat | None:
    try:
        pid, started, rank, place, step, at, limit = _LAYOUT.unpack(path.read_bytes())
    except (OSError, struct.error):
        return None
    return Beat(pid, started, rank, PHASES[place], step, at, limit)
