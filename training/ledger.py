"""The ledger of a run: run/ledger.jsonl, where the wall clock goes, over all attempts.

Written by the first rank, or by whoever starts a job of another kind. Lines are only added. An attempt's
`spent` lines follow each other without a gap, so that what is between two attempts is the time the job was
down: the categories add up to the wall clock by construction. Standard library only.

Lines, all with `attempt` and `event`:
    start    t, job_id             the process of the first rank began
    resumed  t, step               it goes on from this step; 0 for a fresh run
    spent    from, to, step, seconds {phase: s}    until `to`, `step` steps were finished
    end      t, status             it ended by itself; missing after a kill
`t`, `from` and `to` are seconds since the epoch.
"""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from training.runstate import append_line, end_last_line

NAME = "ledger.jsonl"
_WRITE_SECONDS = 1.0  # what a kill may lose; steps that take longer are written one by one


class Ledger:
    """Adds one attempt to the ledger. `began` is when its process started, in seconds since the epoch."""

    def __init__(self, path: Path, attempt: int, job_id: str, began: float) -> None:
        self._path, self._attempt = path, attempt
        self._until = began
        self._step = 0
        self._spent: dict[str, float] = defaultdict(float)
        path.parent.mkdir(parents=True, exist_ok=True)
        end_last_line(path)
        self._add("start", t=began, job_id=job_id)

    def resumed(self, step: int) -> None:
        """The attempt goes on from a step that is saved."""
        self.write()
        self._step = step
        self._add("resumed", t=time.time(), step=step)

    def spend(self, phase: str, seconds: float) -> None:
        """So many seconds went into a phase; phases follow each other without a gap."""
        self._spent[phase] += seconds

    def reached(self, step: int) -> None:
        """So many steps are finished."""
        self._step = step
        if sum(self._spent.values()) >= _WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Put what was spent since the last line on the disk. Needed before and after a save: a line that
        lies on one side of every checkpoint is either kept or done again, never half of each."""
        if not self._spent:
            return
        begin, self._until = self._until, self._until + sum(self._spent.values())
        seconds = {phase: round(spent, 6) for phase, spent in self._spent.items()}
        self._add("spent", **{"from": begin, "to": self._until}, step=self._step, seconds=seconds)
        self._spent.clear()

    def end(self, status: str) -> None:
        """The attempt ends by itself."""
        self.write()
        self._add("end", t=self._until, status=status)

    def _add(self, event: str, **content: Any) -> None:
        append_line(self._path, {"attempt": self._attempt, "event": event, **content})
