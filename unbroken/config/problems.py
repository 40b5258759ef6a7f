"""What is wrong with a cluster file, and how it is printed; not how it is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing wrong with the file."""

    file: str
    line: int
    """From 1; 0 where the problem is the file itself."""
    column: int
    path: str
    """As in ``worker_groups[0].instance_type``; empty for the file itself."""
    value: str | None
    """As found, shortened; None where there is none to show."""
    rule: str
    """Reads on from the value: "is not ..."."""
    hint: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else f"{self.file}:"
        subject = f" {self.path}:" if self.path else ""
        value = f" {self.value}" if self.value is not None else ""
        return f"{where}{subject}{value} {self.rule}\n\nhint: {self.hint}"


class ConfigError(Exception):
    """The cluster file cannot be used; ``problems`` holds every reason, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(problems, key=lambda found: (found.line, found.column))
        super().__init__("\n\n".join(str(problem) for problem in self.problems))
