"""Ctrl-C, SIGTERM and SIGHUP as one exception, once: what cleans up afterwards is not interrupted again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked us to stop; `number` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_code(self) -> int:
        """What shells make of a program ended by that signal."""
        return 128 + self.number


@contextmanager
def as_exceptions(said: Callable[[str], None]) -> Iterator[None]:
    """Inside, the first signal raises Interrupted; further ones are answered with a sentence."""
    came: list[int] = []

    def handler(number: int, _: FrameType | None) -> None:
        came.append(number)
        if len(came) == 1:
            raise Interrupted(number)
        said("cleaning up; this takes a few seconds")

    previous = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, old in previous.items():
            signal.signal(number, old)
