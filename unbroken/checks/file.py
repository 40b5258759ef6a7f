"""The cluster file itself."""

from __future__ import annotations

from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, counted, failed, passed
from unbroken.checks.subject import Subject
from unbroken.config import ConfigError


class FileValid(Check):
    """Every rule that needs no AWS; the loader has them."""

    id = "file-valid"
    area = Area.FILE
    asks = "the cluster file keeps every rule that can be checked without AWS"
    faults = (
        "UP-008",
        "UP-016",
        "UP-028",
        "UP-059",
        "UP-061",
        "UP-063",
        "UP-064",
        "UP-075",
        "UP-085",
        "UP-097",
    )

    def run(self, subject: Subject) -> Outcome:
        """A Subject exists only for a file that was loaded."""
        groups = subject.config.groups()
        nodes = sum(group.num_instances for group in groups)
        counts = f"{counted(len(groups), 'group')}, {counted(nodes, 'node')}"
        return passed(f"{subject.path}: {counts}, {subject.config.region}")

    def refused(self, error: ConfigError) -> Outcome:
        """The answer for a file that could not be loaded."""
        problems = [str(problem) for problem in error.problems]
        hint = next((problem.hint for problem in error.problems if problem.hint), "")
        return failed("\n".join(problems), hint)
