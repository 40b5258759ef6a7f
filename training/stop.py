"""Being told to stop: signals and coming deadlines become a wish, which the ranks agree on.

Standard library only: the signals are taken over before torch is imported, so that one that comes during
start-up is not lost.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
NO_WISH, TIME_LIMIT, STOP_AT = 0, 101, 102
"""Wishes as numbers, which is how the ranks tell each other; those between are the signals' own."""


@dataclass(frozen=True)
class Deadline:
    """A moment before which the run must have left, in seconds since the epoch, and the wish it makes."""

    at: float
    wish: int


def deadlines(stop_at: str | None, environment: Mapping[str, str]) -> list[Deadline]:
    """The moments a job knows: its setting, and the end of its Slurm job (sbatch sets it since 22.05)."""
    found = []
    if stop_at is not None:
        found.append(Deadline(datetime.fromisoformat(stop_at).timestamp(), STOP_AT))
    if (end := environment.get("SLURM_JOB_END_TIME", "")).isdigit():
        found.append(Deadline(float(end), TIME_LIMIT))
    return found


class StopWish:
    """Remembers what first asked this rank to stop. torchrun passes a signal on more than once."""

    def __init__(self, margin_seconds: float = 0.0, deadlines: list[Deadline] | None = None) -> None:
        self.margin_seconds = margin_seconds
        self.deadlines = deadlines or []
        self._wish = NO_WISH

    def install(self) -> None:
        """Take over the signals from here on."""
        for number in SIGNALS:
            signal.signal(number, self._note)

    def number(self, to_leave: float = 0.0) -> int:
        """The wish as a number; `to_leave` is how many seconds leaving takes beside the margin."""
        for deadline in self.deadlines:
            if self._wish == NO_WISH and time.time() + to_leave + self.margin_seconds > deadline.at:
                self._wish = deadline.wish
        return self._wish

    def made(self) -> bool:
        """Whether this rank wishes to stop."""
        return self.number() != NO_WISH

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._wish = self._wish or number


@dataclass(frozen=True)
class Stop:
    """What the ranks agreed to follow: a wish, and the first rank that had it."""

    wish: int
    rank: int

    @property
    def by(self) -> str:
        """For run_state.json: signal, time limit or stop_at."""
        return {TIME_LIMIT: "time limit", STOP_AT: "stop_at"}.get(self.wish, "signal")

    @property
    def reason(self) -> str:
        """For a person."""
        if self.wish == TIME_LIMIT:
            return "the job's time limit is near"
        if self.wish == STOP_AT:
            return "the time set by stop_at is near"
        return f"told to stop by {signal.Signals(self.wish).name} to rank {self.rank}"


def first_wish(wishes: Sequence[int]) -> Stop | None:
    """What to follow when each rank has said its wish; None to go on."""
    return next((Stop(wish, rank) for rank, wish in enumerate(wishes) if wish != NO_WISH), None)
