"""Stages: the named, timed parts of a verb's work, told to a display and, in a rehearsal, to its events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from unbroken.ops.errors import CheckFailed

LOG_LINES = 12
"""How many of a log's last lines a failure shows."""


class Display(Protocol):
    """Where progress is shown; the command line has one for terminals and one for logs."""

    def say(self, text: str) -> None:
        """A line by itself."""

    def stage_started(self, title: str) -> None:
        """A stage begins."""

    def detail(self, text: str) -> None:
        """Something happened within the stage."""

    def stage_ended(self, title: str, ok: bool, seconds: float, note: str) -> None:
        """The stage is over; the note is its result in a few words."""


class StageFailed(CheckFailed):
    """A stage did not reach what it is for. Raised within a stage, which adds its name."""

    def __init__(self, message: str, hint: str = "", log: Path | str | None = None) -> None:
        super().__init__(message, hint)
        self.stage = ""
        self.log_name, self.log_lines = _tail(log)


def _tail(log: Path | str | None) -> tuple[str, list[str]]:
    """The name and the last lines of a log, given as a file or as its text."""
    if log is None:
        return "", []
    if isinstance(log, str):
        return "", _last_lines(log)
    try:
        return str(log), _last_lines(log.read_text(errors="replace"))
    except OSError:
        return str(log), []


def _last_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()][-LOG_LINES:]


@dataclass
class Stage:
    """A stage under way; set `note` to say at its end what came out."""

    name: str
    display: Display
    note: str = ""

    def detail(self, text: str) -> None:
        """Show something that happened within the stage."""
        self.display.detail(text)


Emit = Callable[..., object]


def _untold(*_: object, **__: object) -> None:
    pass


class Stages:
    """Runs stages one after another."""

    def __init__(
        self, display: Display, emit: Emit = _untold, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``emit`` takes an event as EventLog.emit does."""
        self.display = display
        self._emit = emit
        self._clock = clock

    @contextmanager
    def stage(self, name: str, title: str) -> Iterator[Stage]:
        """Everything inside is one stage; an exception ends it as failed and goes on upward."""
        stage = Stage(name, self.display)
        start = self._clock()
        self._emit("rehearse", "stage", name, state="start", title=title)
        self.display.stage_started(title)
        try:
            yield stage
        except BaseException as error:
            if isinstance(error, StageFailed) and not error.stage:
                error.stage = name
            self._end(stage, title, start, ok=False)
            raise
        self._end(stage, title, start, ok=True)

    def _end(self, stage: Stage, title: str, start: float, ok: bool) -> None:
        seconds = self._clock() - start
        self._emit("rehearse", "stage", stage.name, state="end", seconds=round(seconds, 2), ok=ok)
        self.display.stage_ended(title, ok, seconds, stage.note)
