"""The ledger, the tests that hold it, and the page made from it are in step."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from unbroken.rehearsal.hyperpod import behaviours

ROOT = Path(__file__).resolve().parents[3]
MARK = re.compile(r'^\s*@pytest\.mark\.behaviour\("(HP\d{3})"\)', re.MULTILINE)


def marked() -> Counter[str]:
    """How many tests carry each id."""
    files = (ROOT / "tests").rglob("test_*.py")
    return Counter(number for file in files for number in MARK.findall(file.read_text()))


def test_every_behaviour_has_exactly_one_test() -> None:
    counted = marked()
    known = [entry.id for entry in behaviours.BEHAVIOURS]
    assert {name for name, count in Counter(known).items() if count > 1} == set()
    assert set(known) - set(counted) == set(), "behaviours without a test"
    assert set(counted) - set(known) == set(), "tests of behaviours that are not in the ledger"
    assert {name for name, count in counted.items() if count > 1} == set(), "behaviours with several tests"


def test_the_page_is_in_step() -> None:
    page = ROOT / "docs" / "reference" / "emulation.md"
    renew = "python -m unbroken.rehearsal.hyperpod.behaviours > docs/reference/emulation.md"
    assert page.read_text() == behaviours.markdown(), f"renew it with: {renew}"


def test_the_headline_counts() -> None:
    numbers = behaviours.counts()
    assert numbers["total"] == len(behaviours.BEHAVIOURS)
    assert behaviours.headline() == f"0 of {numbers['total']} behaviours verified on AWS"


def test_entries_can_be_read_by_a_stranger() -> None:
    for entry in behaviours.BEHAVIOURS:
        assert entry.text.endswith(".") and entry.source and "section" not in entry.source
        assert entry.confidence in ("documented", "observed", "inferred")
