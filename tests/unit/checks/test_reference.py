"""The page of checks says what the checks say."""

from __future__ import annotations

from pathlib import Path

from unbroken.checks.every import CHECKS
from unbroken.checks.reference import FAULTS, PAGE_FILE, page

REPOSITORY = Path(__file__).resolve().parents[3]


def test_the_page_is_in_step_with_the_checks() -> None:
    accept = "accept it with: python -m unbroken.checks.reference"
    assert (REPOSITORY / PAGE_FILE).read_text(encoding="utf-8") == page(), accept


def test_every_fault_has_words_and_every_word_a_check() -> None:
    assert {fault for check in CHECKS for fault in check.faults} == set(FAULTS)


def test_every_check_says_what_should_hold_and_why() -> None:
    for check in CHECKS:
        assert check.asks and not check.asks.endswith("."), check.id
        assert (type(check).__doc__ or "").strip(), check.id
        assert "|" not in check.asks, check.id
