"""What a check answers: PASS, FAIL or UNKNOWN, with what was found and one way out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Verdict(str, Enum):
    """UNKNOWN is neither of the others: the question could not be answered."""

    PASS = "PASS"  # noqa: S105  (a verdict, not a password)
    FAIL = "FAIL"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Outcome:
    """An answer without the question."""

    verdict: Verdict
    found: str
    fix: str = ""
    """One way out; empty for PASS."""


def passed(found: str) -> Outcome:
    """It holds; ``found`` says by what evidence."""
    return Outcome(Verdict.PASS, found)


def failed(found: str, fix: str) -> Outcome:
    """It does not hold."""
    return Outcome(Verdict.FAIL, found, fix)


def unknown(found: str, fix: str) -> Outcome:
    """It could not be found out; ``found`` says why."""
    return Outcome(Verdict.UNKNOWN, found, fix)


def together(parts: Iterable[Outcome]) -> Outcome:
    """One answer for several things: the worst of them, told with everything of that kind.

    No part at all is UNKNOWN: nothing was looked at.
    """
    answers = list(parts)
    for verdict in (Verdict.FAIL, Verdict.UNKNOWN, Verdict.PASS):
        same = [part for part in answers if part.verdict is verdict]
        if same:
            return Outcome(verdict, _joined([part.found for part in same]), same[0].fix)
    return unknown("there was nothing to look at", "report this as a fault of the check")


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names in a sentence, the first few of many."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more


def counted(number: int, thing: str) -> str:
    """``1 script``, ``2 scripts``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _joined(texts: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


@dataclass(frozen=True)
class Result:
    """A check's answer with its question."""

    id: str
    area: str
    asked: str
    outcome: Outcome
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """PASS, FAIL or UNKNOWN."""
        return self.outcome.verdict


def missing(reason: str, fix: str, wrong: bool) -> Outcome:
    """The answer for a part that could not be made."""
    return failed(reason, fix) if wrong else unknown(reason, fix)


@dataclass(frozen=True)
class LeftOut:
    """A check that did not run, and why."""

    id: str
    area: str
    reason: str
    on_purpose: bool = True
    """False where it should have run and could not."""
