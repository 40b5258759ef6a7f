"""Ctrl-C, SIGTERM and SIGHUP as one exception, once: what comes after is not interrupted by accident."""

from __future__ import annotations

import contextlib
import os
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
        self.explanation: list[str] = []
        """What the user should know, in lines; filled in on the way up."""

    @property
    def exit_code(self) -> int:
        """What shells make of a program ended by that signal."""
        return 128 + self.number


class Answers:
    """What becomes of signals inside `as_exceptions`."""

    def __init__(self, said: Callable[[str], None]) -> None:
        self.interrupted = False
        """Whether one of them raised."""
        self._said = said
        self._cleaning_up = False

    def only_said(self) -> None:
        """From now on no signal raises: what runs now is the cleaning up."""
        self._cleaning_up = True

    def __call__(self, number: int, _: FrameType | None) -> None:
        """The signal handler."""
        if not self._cleaning_up:
            self._cleaning_up = self.interrupted = True
            raise Interrupted(number)
        with contextlib.suppress(RuntimeError):  # the signal came in the middle of a write to the same stream
            self._said("cleaning up; this takes a few seconds")


@contextmanager
def as_exceptions(said: Callable[[str], None]) -> Iterator[Answers]:
    """Inside, the first signal raises Interrupted; further ones are answered with a sentence.

    A signal that was ignored before stays ignored: who starts us with nohup wants no end by SIGHUP.
    """
    answers = Answers(said)
    with _handled(answers):
        yield answers


@contextmanager
def twice_ends() -> Iterator[None]:
    """Inside, the first signal raises Interrupted, and a second one ends this process at once."""

    def first(number: int, _: FrameType | None) -> None:
        for each in SIGNALS:
            if signal.getsignal(each) != signal.SIG_IGN:
                signal.signal(each, _end_at_once)
        raise Interrupted(number)

    with _handled(first):
        yield


def _end_at_once(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, old in previous.items():
            signal.signal(number, old)
