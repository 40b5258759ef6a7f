"""Decisions about jobs."""

from __future__ import annotations

import pytest

from cluster_agent.diagnosis import Verdict, diagnose, orphaned
from cluster_agent.slurm import Job

NODES = ("a", "b", "c")


@pytest.mark.parametrize(
    ("job", "unhealthy", "expected"),
    [
        (Job(1, "a", nodes=NODES), [], Verdict("NONE")),
        (Job(1, "a", nodes=NODES), ["x"], Verdict("NONE")),
        (None, ["b"], Verdict("NONE")),
        (Job(1, "a", nodes=NODES), ["b"], Verdict("RETRYSTEP", ("b",))),
        (Job(1, "a", nodes=("a", "c")), [], Verdict("RETRYSTEP", ("b",))),
        (Job(1, "a", nodes=("a",)), ["c"], Verdict("RETRYSTEP", ("b", "c"))),
        (Job(1, "a", gres=True, nodes=NODES), ["b"], Verdict("RETRYSTEP", ("b",), requeue=True)),
        (Job(1, "a", nodes=NODES), ["a"], Verdict("RETRYSTEP", ("a",), requeue=True)),
    ],
)
def test_verdicts(job: Job | None, unhealthy: list[str], expected: Verdict) -> None:
    assert diagnose(job, NODES, unhealthy) == expected


def test_who_has_nobody_to_ask_for_it() -> None:
    first, second, third = Job(1, "a"), Job(2, "b"), Job(3, "b")
    assert orphaned([first, second, third], "a", attended={1, 2}) == [first, third]
