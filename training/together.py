"""Waiting for data as all ranks do it: until each of them has it, or any was told to stop.

One rank may see a new file before another does. If each waited for itself, those that have it would be in the
step's collectives, where nobody hears a stop, while the others wait for a writer that may be gone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from training.data.waiting import POLL_SECONDS, Look
from training.exchange import Exchange
from training.phases import Phases
from training.stop import Stop, first_wish


class ToldToStop(Exception):
    """Raised on all ranks at once while they wait; nothing is half done then."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.stop = stop


@dataclass(frozen=True)
class Together:
    """How a rank of a run waits for data. A collective; raises ToldToStop."""

    exchange: Exchange
    wish: Callable[[], int]
    """This rank's wish, a number of training.stop."""
    phases: Phases
    log: Callable[[str], None]

    def __call__(self, look: Look, total: int, what: str) -> int:
        """Return, once every rank sees `total`, what the one that sees least does."""
        there = self._least(look)
        if there < total:
            self.log(f"Waiting for {what}")
        while there < total:
            self.phases.beat()
            time.sleep(POLL_SECONDS)
            there = self._least(look)
        return there

    def _least(self, look: Look) -> int:
        wishes, there = zip(*self.exchange.tell(self.wish(), look()), strict=True)
        if stop := first_wish(wishes):
            raise ToldToStop(stop)
        return int(min(there))
