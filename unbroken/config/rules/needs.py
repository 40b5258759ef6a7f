"""A rule between sections, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from unbroken.config.section import Fault
from unbroken.config.sections import Sections

Check = Callable[[Sections], Iterator[Fault]]


@dataclass(frozen=True)
class Rule:
    """One rule."""

    faults: Check
    needs: frozenset[str]
    """Names of the sections it reads."""


def reads(*sections: str) -> Callable[[Check], Rule]:
    """Makes a function a rule that reads these sections."""
    return lambda check: Rule(check, frozenset(sections))


GROUPS = ("controller_group", "login_groups", "worker_groups")
