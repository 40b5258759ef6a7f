"""Being told to stop: signals become a wish, and the ranks agree on the step at which they follow it."""

from __future__ import annotations

import signal
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class StopWish:
    """Remembers the first signal that asks this rank to stop. torchrun passes a signal on more than once."""

    def __init__(self) -> None:
        self.signal_name: str | None = None

    def install(self) -> None:
        """Take over the signals from here on."""
        for number in SIGNALS:
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.signal_name = self.signal_name or signal.Signals(number).name
