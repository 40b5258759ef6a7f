"""How many steps lie between two checkpoints: given, or worked out from what a save costs. No torch here.

The best time between two saves is where what saving costs and what a failure loses are together the least.
Daly's estimate of it (J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
dumps", 2006), with C the time training stands still for a save and M the mean time between failures:

    T = sqrt(2 C M) * (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C    for C < 2M, else M

M = 1 / (failures per node and hour * nodes). T is at least the time a whole save takes in the background,
since one save is under way at a time, and at most LONGEST_SECONDS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from training.words import counted

FIRST_STEPS = 20
"""Steps to the first save of an attempt: nothing has been measured before it."""
LONGEST_SECONDS = 7_200.0
"""Work that a failure may cost at most, whatever the failure rate that was assumed."""


@dataclass(frozen=True)
class Measured:
    """Of one save, in seconds: how long training stood still, how long the whole save took, and how long a
    step takes without saves."""

    stall: float
    save: float
    step: float


def best_seconds(cost: float, between_failures: float) -> float:
    """Daly's estimate of the time between two saves, in seconds."""
    if cost >= 2 * between_failures:
        return between_failures
    part = cost / (2 * between_failures)
    return math.sqrt(2 * cost * between_failures) * (1 + math.sqrt(part) / 3 + part / 9) - cost


class Interval:
    """When the next checkpoint is due. The same on every rank, if all are given the same measurements."""

    def __init__(self, every: int | str, failures_per_node_hour: float, nodes: int) -> None:
        self._fixed = None if isinstance(every, str) else every
        self._between_failures = 3600.0 / (failures_per_node_hour * nodes)
        self._nodes = nodes
        self._planned: Measured | None = None
        self._last = 0
        self.steps = self._fixed or FIRST_STEPS

    def due(self, step: int) -> bool:
        """Whether a checkpoint is to be written after this step."""
        if self._fixed:
            return step % self._fixed == 0
        return step - self._last >= self.steps

    def saved(self, step: int) -> None:
        """A save has begun, or the run goes on from a checkpoint of this step."""
        self._last = step

    def learn(self, now: Measured) -> str | None:
        """Plan anew if a save or a step takes twice or half of what was planned with; says so."""
        if self._fixed or (self._planned and not _differs(self._planned, now)):
            return None
        self._planned = now
        best = best_seconds(now.stall, self._between_failures)
        seconds = min(max(best, now.save), LONGEST_SECONDS)
        self.steps = max(1, round(seconds / now.step))
        bound = "" if seconds == best else f", bounded to {seconds:.1f} s"
        hours = self._between_failures / 3600
        return (
            f"Checkpoint every {counted(self.steps, 'step')}: a save stalls {now.stall:.3f} s, "
            f"takes {now.save:.1f} s, a step {now.step:.3f} s; {counted(self._nodes, 'node')} "
            f"with a failure every {hours:,.2f} h (assumed): best {best:.1f} s{bound}"
        )


def _differs(before: Measured, now: Measured) -> bool:
    pairs = ((before.stall, now.stall), (before.save, now.save), (before.step, now.step))
    return any(max(pair) > 2 * min(pair) for pair in pairs)
