"""What is learnt from the output of a step while it is passed on: its progress and its first error.

Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from training.launch.failures import error_in

_LINE_END = re.compile(rb"[\r\n]+")
_LONGEST_LINE = 1 << 16


class Reader(Protocol):
    """Somebody who wants every line."""

    def line(self, text: str) -> None:
        """One line, without its end."""


def follow(source: int, out: BinaryIO, readers: list[Reader]) -> None:
    """Pass all that comes from a descriptor on at once, and its lines to the readers; closes it at its end.

    A progress bar's carriage return ends a line too.
    """
    rest = b""
    while data := os.read(source, 1 << 16):
        out.write(data)
        out.flush()
        *lines, rest = _LINE_END.split(rest + data)
        for line in lines:
            _tell(readers, line)
        if len(rest) > _LONGEST_LINE:
            rest = b""
    os.close(source)
    _tell(readers, rest)


def _tell(readers: list[Reader], line: bytes) -> None:
    if text := line.decode(errors="replace"):
        for reader in readers:
            reader.line(text)


@dataclass
class Errors:
    """The error of the attempt: the first traceback that ended."""

    first: str = ""

    def line(self, text: str) -> None:
        """Look for the last line of a traceback."""
        if not self.first and (found := error_in(text)):
            self.first = found


@dataclass
class Progress:
    """How far a run is, from a pattern in its log whose first group is a whole number, or a metrics file."""

    pattern: re.Pattern[str] | None = None
    metrics: Path | None = None
    """JSON lines, each with `step`."""
    clock: Callable[[], float] = time.monotonic
    first: int | None = None
    """The first number of this attempt."""
    step: int | None = None
    """The newest number of this attempt; None before the first."""
    best: int = 0
    """The largest number of this attempt."""
    moved_at: float = field(default=0.0)
    _size: int = 0

    def begin(self) -> None:
        """A new attempt: the clock runs from here, and lines of earlier ones do not count."""
        self.first, self.step, self.best, self.moved_at = None, None, 0, self.clock()
        self._size = self._length()

    def line(self, text: str) -> None:
        """Look for the pattern."""
        found = self.pattern.search(text) if self.pattern else None
        if found:
            self._note(int(found.group(1)))

    def look(self) -> None:
        """Read what the metrics file has gained."""
        if self.metrics is None or (length := self._length()) == self._size:
            return
        start = self._size if length > self._size else 0
        with self.metrics.open("rb") as file:
            file.seek(start)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._size = start + len(whole)
        for line in whole.splitlines():
            self._read(line)

    def still_seconds(self) -> float:
        """How long the number has not changed."""
        return self.clock() - self.moved_at

    def _read(self, line: bytes) -> None:
        try:
            self._note(int(json.loads(line)["step"]))
        except (ValueError, KeyError, TypeError):
            return  # a line of another kind

    def _note(self, step: int) -> None:
        if self.first is None:
            self.first = step
        if step != self.step:
            self.step, self.best, self.moved_at = step, max(step, self.best), self.clock()

    def _length(self) -> int:
        try:
            return self.metrics.stat().st_size if self.metrics else 0
        except FileNotFoundError:
            return 0
