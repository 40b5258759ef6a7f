"""What is learnt from the output of a step while it is passed on: its progress and its first error.

Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from training.launch.failures import WITHOUT_A_WORD, error_in, is_from_a_peer, may_be_from_a_peer

_LINE_END = re.compile(rb"[\r\n]+")
_LONGEST_LINE = 1 << 16


class Reader(Protocol):
    """Somebody who wants every line."""

    def line(self, text: str) -> None:
        """One line, without its end."""


def follow(source: int, out: int, readers: list[Reader]) -> None:
    """Pass all that comes from a descriptor on to another at once, and its lines to the readers; closes it
    at its end.

    A progress bar's carriage return ends a line too.
    """
    rest = b""
    while data := os.read(source, 1 << 16):
        _pass_on(data, out)
        *lines, rest = _LINE_END.split(rest + data)
        for line in lines:
            _tell(readers, line)
        if len(rest) > _LONGEST_LINE:
            rest = b""
    os.close(source)
    _tell(readers, rest)


def _pass_on(data: bytes, out: int) -> None:
    """A log that takes no more, on a full disk or of a reader that has gone, must not hold up the job."""
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(out, data) :]


def _tell(readers: list[Reader], line: bytes) -> None:
    if text := line.decode(errors="replace"):
        for reader in readers:
            reader.line(text)


@dataclass
class Errors:
    """The error of the attempt: the first traceback that ended, of a rank that did not only lose a peer."""

    first: str = ""

    def line(self, text: str) -> None:
        """Look for the last line of a traceback."""
        found = error_in(text)
        if found is None or self._weight(found) <= self._weight(self.first):
            return
        self.first = WITHOUT_A_WORD if is_from_a_peer(found) else found

    @staticmethod
    def _weight(error: str) -> int:
        """How much an error says of its cause."""
        if error in ("", WITHOUT_A_WORD) or is_from_a_peer(error):
            return 1 if error else 0
        return 2 if may_be_from_a_peer(error) else 3


@dataclass
class Progress:
    """How far a run is, from a pattern in its log whose first group is a whole number, or a metrics file."""

    pattern: re.Pattern[str] | None = None
    metrics: Path | None = None
    """JSON lines, each with `step`."""
    clock: Callable[[], float] = time.monotonic
    say: Callable[[str], None] = lambda text: None
    """Tells a person, once, of a pattern that finds what is no number."""
    first: int | None = None
    """The first number of this attempt."""
    step: int | None = None
    """The newest number of this attempt; None before the first."""
    best: int = 0
    """The largest number of this attempt."""
    moved_at: float = field(default=0.0)
    _size: int = 0
    _is_told: bool = False

    def begin(self) -> None:
        """A new attempt: the clock runs from here, and lines of earlier ones do not count."""
        self.first, self.step, self.best, self.moved_at = None, None, 0, self.clock()
        self._size = self._length()

    def line(self, text: str) -> None:
        """Look for the pattern."""
        found = self.pattern.search(text) if self.pattern else None
        if found and not self._note(found.group(1)) and not self._is_told:
            self._is_told = True
            self.say(
                f"--progress finds {found.group(1)!r}, which is no whole number: such lines do not count"
            )

    def look(self) -> None:
        """Read what the metrics file has gained."""
        if self.metrics is None or (length := self._length()) == self._size:
            return
        start = self._size if length > self._size else 0
        with contextlib.suppress(OSError), self.metrics.open("rb") as file:  # it may be there again later
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
        with contextlib.suppress(ValueError, KeyError, TypeError):  # a line of another kind
            self._note(json.loads(line)["step"])

    def _note(self, found: Any) -> bool:
        """Take a number in; whether it is one."""
        try:
            step = int(found)
        except (ValueError, TypeError, OverflowError):
            return False
        if self.first is None:
            self.first = step
        if step != self.step:
            self.step, self.best, self.moved_at = step, max(step, self.best), self.clock()
        return True

    def _length(self) -> int:
        try:
            return self.metrics.stat().st_size if self.metrics else 0
        except OSError:
            return 0
