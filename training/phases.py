"""What a rank does at each moment: told to the watchdog by a heartbeat, and to the ledger in seconds.

A rank is always in exactly one phase, so the ledger adds up and the watchdog knows how long to wait.
Standard library only.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from training.ledger import Ledger
from training.watch.heartbeat import Heart

_TIMES_THE_MEDIAN = 10.0


@dataclass
class Limits:
    """How long a rank may give no sign in each phase. Adapts to the steps and saves it has seen."""

    start_seconds: float
    """Until the first step of the attempt is done: building, loading, compiling."""
    hang_seconds: float
    """The least for a step, a batch or a batch of an evaluation; 0 for no limit at all."""
    save_seconds: float
    """The least for a save, and for the end."""
    _steps: deque[float] = field(default_factory=lambda: deque(maxlen=63))
    _longest_save: float = 0.0

    def note(self, phase: str, seconds: float) -> None:
        """A step or a save took so long."""
        if phase == "step":
            self._steps.append(seconds)
        elif phase == "save":
            self._longest_save = max(self._longest_save, seconds)

    def of(self, phase: str) -> float:
        """Seconds until the next sign is overdue."""
        if self.hang_seconds == 0:
            return 0.0
        if not self._steps or phase in ("start", "load"):
            return self.start_seconds
        if phase in ("save", "end"):
            return max(self.save_seconds, _TIMES_THE_MEDIAN * self._longest_save)
        return max(self.hang_seconds, _TIMES_THE_MEDIAN * statistics.median(self._steps))

    @property
    def to_leave(self) -> float:
        """What it takes at most, by what was seen, to finish a step, notice a wish and save."""
        return 3 * max(self._steps, default=0.0) + 2 * self._longest_save


class Phases:
    """The clock of one rank. `began`: how many seconds ago its process started."""

    def __init__(self, limits: Limits, heart: Heart | None = None, ledger: Ledger | None = None) -> None:
        self.limits = limits
        self.ledger = ledger
        self.seconds: dict[str, float] = defaultdict(float)
        """Seconds in each phase since the process started."""
        self.now = "start"
        self._heart = heart
        self._step = 0
        self._since = time.monotonic()
        self.beat()

    def started_before(self, seconds: float) -> None:
        """The process began so many seconds before this object."""
        self._spend("start", seconds)

    def enter(self, phase: str) -> float:
        """Leave the present phase for another; returns the seconds spent in it."""
        now = time.monotonic()
        spent, self._since = now - self._since, now
        self._spend(self.now, spent)
        self.now = phase
        self.beat()
        return spent

    @contextlib.contextmanager
    def within(self, phase: str) -> Iterator[None]:
        """Do something else in between, and go on with the present phase."""
        before = self.now
        self.enter(phase)
        try:
            yield
        finally:
            self.limits.note(phase, self.enter(before))

    def beat(self) -> None:
        """A sign of life: the present phase gets on."""
        if self._heart is not None:
            self._heart.beat(self.now, self._step, self.limits.of(self.now))

    def reached(self, step: int, seconds: float) -> None:
        """A step is done that took so long, without the wait for its data to be written."""
        self._step = step
        self.limits.note("step", seconds)
        self.enter(self.now)
        if self.ledger is not None:
            self.ledger.reached(step)

    def resumed(self, step: int) -> None:
        """The attempt goes on from a step that is saved."""
        self._step = step
        self.enter(self.now)
        if self.ledger is not None:
            self.ledger.resumed(step)

    def write(self) -> None:
        """Put the ledger on the disk up to now."""
        self.enter(self.now)
        if self.ledger is not None:
            self.ledger.write()

    def end(self, status: str) -> None:
        """The attempt ends by itself."""
        self.enter("end")
        if self.ledger is not None:
            self.ledger.end(status)

    def _spend(self, phase: str, seconds: float) -> None:
        self.seconds[phase] += seconds
        if self.ledger is not None:
            self.ledger.spend(phase, seconds)
