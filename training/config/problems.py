"""What is wrong with a job file, as data: the settings' rules make Problems, reading raises them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from training.errors import JobError


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a job file."""

    key: str
    found: str
    hint: str

    def __str__(self) -> str:
        return f"{self.key}: {self.found}\n  hint: {self.hint}"


Rule = Callable[[Any], list[Problem]]
"""A check of one area's settings (the area's own class); empty where all is well."""


class JobConfigError(JobError):
    """A job that cannot be used; `problems` has one entry for each thing wrong with it.

    `source` names the job file; keys in `given` come from the command line and are said to.
    """

    def __init__(self, source: str, problems: list[Problem], given: frozenset[str] = frozenset()) -> None:
        self.source = source
        self.problems = problems
        lines = (f"{'command line' if each.key in given else source}: {each}" for each in problems)
        super().__init__("\n".join(lines), final=True)
