"""A ledger read back: every second of a run in exactly one category."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CATEGORIES = {
    "step": "steps that were kept",
    "data": "waiting for data",
    "evaluate": "evaluation",
    "save": "waiting for saves",
    "redone": "steps done again after a restart",
    "load": "building and loading",
    "start": "starting",
    "end": "leaving",
    "down": "down or hanging",
}
"""Where time can go, and what that is called."""
_NUMBERS = {"start": ["t"], "resumed": ["step"], "spent": ["from", "to", "step"]}
"""What the sums need of a line, by its event."""


@dataclass(frozen=True)
class Span:
    """Time without a gap, in seconds since the epoch, and what it went into."""

    begin: float
    end: float
    seconds: dict[str, float]


@dataclass
class Attempt:
    """One start of the ranks."""

    number: int
    begin: float
    end: float
    resumed: int | None = None
    """The step it went on from; None when it did not come that far."""
    step: int = 0
    """Steps finished when it ended."""
    status: str | None = None
    """How it ended; None when it was killed, or still runs."""
    lines: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Account:
    """A run's time. `seconds` has every category; with `unexplained` they make up the wall clock."""

    spans: list[Span]
    attempts: list[Attempt]
    damaged_lines: int
    """Lines that could not be read; a kill may leave one."""

    @property
    def wall(self) -> float:
        """From the first attempt's start to the last line."""
        return self.spans[-1].end - self.spans[0].begin if self.spans else 0.0

    @property
    def seconds(self) -> dict[str, float]:
        """By category."""
        return {name: sum(span.seconds.get(name, 0.0) for span in self.spans) for name in CATEGORIES}

    @property
    def whole(self) -> float:
        """What parts are parts of: the wall clock, unless a clock was put back and more is explained."""
        return max(self.wall, sum(self.seconds.values()))

    @property
    def unexplained(self) -> float:
        """What the categories do not explain: not 0 where the clocks of two nodes disagree."""
        return self.wall - sum(self.seconds.values())

    @property
    def goodput(self) -> float:
        """Part of the time that went into steps that were kept."""
        return self.seconds["step"] / self.whole if self.whole > 0 else 0.0


def read(path: Path) -> Account:
    """The account of a ledger file. Raises OSError."""
    lines, damaged = [], 0
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            lines.append(_line(text))
        except (ValueError, KeyError, TypeError, AttributeError):
            damaged += 1
    attempts = _attempts(lines)
    return Account(list(_spans(attempts)), attempts, damaged)


def _line(text: str) -> dict[str, Any]:
    """A line that has all that is read of it. Raises ValueError, KeyError, TypeError, AttributeError."""
    line: dict[str, Any] = json.loads(text)
    needed = [line[name] for name in _NUMBERS.get(line["event"], [])]
    if line["event"] == "spent":
        needed += line["seconds"].values()
    if not all(math.isfinite(number) for number in [line["attempt"], *needed]):
        raise ValueError(f"not finite: {text}")
    return line


def _attempts(lines: Iterable[dict[str, Any]]) -> list[Attempt]:
    attempts: list[Attempt] = []
    for line in lines:
        if line["event"] == "start":
            attempts.append(Attempt(line["attempt"], line["t"], line["t"]))
        elif attempts and line["attempt"] == attempts[-1].number:
            _add(attempts[-1], line)
    return attempts


def _add(attempt: Attempt, line: dict[str, Any]) -> None:
    """Lines of other kinds are left to those who know them."""
    if line["event"] == "spent":
        attempt.lines.append(line)
        attempt.end, attempt.step = line["to"], line["step"]
    elif line["event"] == "resumed":
        attempt.resumed = attempt.step = line["step"]
    elif line["event"] == "end":
        attempt.status = str(line.get("status"))


def _spans(attempts: list[Attempt]) -> Iterator[Span]:
    for place, attempt in enumerate(attempts):
        later = [each.resumed for each in attempts[place + 1 :] if each.resumed is not None]
        kept_until = min(later, default=None)
        for line in attempt.lines:
            redone = kept_until is not None and line["step"] > kept_until
            yield Span(line["from"], line["to"], _counted(line["seconds"], redone))
        if place + 1 < len(attempts):
            begin, end = attempt.end, attempts[place + 1].begin
            yield Span(begin, end, {"down": max(0.0, end - begin)})


def _counted(seconds: dict[str, float], redone: bool) -> dict[str, float]:
    """Steps whose result was lost were done for nothing, and so was waiting for their data."""
    if not redone:
        return seconds
    lost = seconds.get("step", 0.0) + seconds.get("data", 0.0)
    return {**seconds, "step": 0.0, "data": 0.0, "redone": lost}
