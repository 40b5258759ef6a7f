"""Asking Slurm from outside: what is said when it does not answer."""

from __future__ import annotations

import subprocess

import pytest

from tests.unit.ops.fakes import FakeCluster


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("idle", ""),
        (1, "refused"),
        (subprocess.TimeoutExpired("sinfo", 10), "Command 'sinfo' timed out after 10 seconds"),
    ],
)
def test_why_slurm_says_nothing(answer: str | int | Exception, said: str) -> None:
    assert FakeCluster([("sinfo", answer)]).slurm_complaint() == said
