"""Whatever is done to a cluster file, loading it ends in a cluster or in a printable ConfigError.

A seeded part of the changes runs each time. For ten thousand files (about half a minute):
``UNBROKEN_MUTATIONS=10000 pytest tests/unit/config/test_mutations.py``; another ``UNBROKEN_SEED``
gives others.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.unit.config.mutate import mutated
from unbroken import config
from unbroken.cli.check import rows

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "clusters").glob("*.yaml"))
FILES = int(os.environ.get("UNBROKEN_MUTATIONS", "1000"))
SEED = os.environ.get("UNBROKEN_SEED", "unbroken")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: str(path.stem))
def test_no_change_ends_in_a_traceback(tmp_path: Path, example: Path) -> None:
    dice = random.Random(f"{SEED} {example.stem}")  # noqa: S311 (not a secret; the same each run)
    text, path = example.read_text(encoding="utf-8"), tmp_path / "cluster.yaml"
    outcomes = {"good": 0, "refused": 0}
    for _ in range(FILES // len(EXAMPLES)):
        content = mutated(dice, text)
        path.write_bytes(content)
        outcomes[outcome(path, content)] += 1
    assert min(outcomes.values()) > 0  # else the mutations do nothing, or all the same


def outcome(path: Path, content: bytes) -> str:
    """What loading a file ends in, and whether that can be shown."""
    try:
        assert all(isinstance(word, str) for row in rows(config.load(path)) for word in row), content
    except config.ConfigError as error:
        assert error.problems, content
        for problem in error.problems:
            assert problem.rule and problem.hint, content
            assert len(str(problem)) < 3000, content
            assert all(line.isprintable() for line in str(problem).split("\n")), content
        str(error).encode()
        return "refused"
    return "good"
