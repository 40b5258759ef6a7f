"""How checks are run: nothing that goes wrong is PASS, and nobody waits for an AWS that does not answer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.unit.checks import subjects
from tests.unit.checks.account import HEALTHY
from tests.unit.checks.recorded import Denying, Silent, aws
from unbroken.aws.facade import over
from unbroken.checks.check import Area, Check
from unbroken.checks.every import CHECKS
from unbroken.checks.result import Outcome, Result, Verdict, failed, listed, passed, together, unknown
from unbroken.checks.runner import FIRST, UNANSWERED, answer
from unbroken.checks.subject import Account, Subject


class Simple(Check):
    """A check that answers as it is told."""

    asks = "what is asked"

    def __init__(self, name: str = "simple", area: Area = Area.ACCOUNT) -> None:
        self.id = name  # type: ignore[misc]  # one a test, not one a class
        self.area = area  # type: ignore[misc]

    def run(self, subject: Subject) -> Outcome:
        return passed("fine")


class Raising(Simple):
    def run(self, subject: Subject) -> Outcome:
        raise KeyError("Subnets")


class Waiting(Simple):
    """Waits until the test is over."""

    over = threading.Event()

    def run(self, subject: Subject) -> Outcome:
        self.over.wait()
        return passed("too late")


class Unasked(Simple):
    def applies(self, subject: Subject) -> bool:
        return False


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    return subjects.subject(tmp_path, aws=aws(HEALTHY))


def test_an_error_of_a_check_is_unknown(subject: Subject) -> None:
    for area in (Area.FILE, Area.ACCOUNT):
        [result] = answer([Raising(area=area)], subject).results
        assert result.verdict is Verdict.UNKNOWN
        assert result.outcome.found == "the check itself failed: KeyError: 'Subnets'"


def test_nobody_waits_for_a_check_that_hangs(subject: Subject) -> None:
    Waiting.over.clear()
    try:
        answers = answer([Waiting("hangs"), Simple("quick")], subject, seconds=0.2)
    finally:
        Waiting.over.set()
    assert [(one.id, one.verdict) for one in answers.results] == [
        ("hangs", Verdict.UNKNOWN),
        ("quick", Verdict.PASS),
    ]
    assert "did not answer within" in answers.results[0].outcome.found


def test_results_keep_the_order_of_the_checks_and_are_told_as_they_come(subject: Subject) -> None:
    told: list[Result] = []
    names = [f"check-{number}" for number in range(20)]
    answers = answer([Simple(name) for name in names], subject, told.append)
    assert [one.id for one in answers.results] == names
    assert sorted(one.id for one in told) == sorted(names)


def test_offline_checks_of_the_account_count_as_not_run(tmp_path: Path) -> None:
    checks = [check for check in CHECKS if check.id != "template-schema"]  # slow
    answers = answer(checks, subjects.subject(tmp_path))
    of_account = {check.id for check in CHECKS if check.area.of_account}
    left = {one.id for one in answers.left_out if "offline" in one.reason}
    assert left == of_account
    assert not of_account & {one.id for one in answers.results}


def test_what_the_file_does_not_ask_for_is_left_out(subject: Subject) -> None:
    answers = answer([Unasked("idle")], subject)
    assert (answers.results, [one.id for one in answers.left_out]) == ((), ["idle"])


@pytest.mark.parametrize("session", [Denying, Silent])
@pytest.mark.parametrize("config", [subjects.PLAIN, subjects.WITH_FILE_SYSTEM, subjects.PLANNED])
def test_no_check_of_the_account_passes_where_aws_says_nothing(
    session: type[Denying] | type[Silent], config: dict[str, object], tmp_path: Path
) -> None:
    subject = subjects.subject(tmp_path, config, over(session()))
    checks = [check for check in CHECKS if check.area.of_account and check.id != FIRST]
    results = answer(checks, subject).results
    assert len(results) > 15
    assert [one.id for one in results if one.verdict is not Verdict.UNKNOWN] == []


def test_where_nobody_is_logged_in_that_is_all_there_is_to_say(tmp_path: Path) -> None:
    subject = subjects.subject(tmp_path, aws=over(Denying()))
    checks = [check for check in CHECKS if check.area.of_account]
    answers = answer(checks, subject)
    assert [(one.id, one.verdict) for one in answers.results] == [(FIRST, Verdict.UNKNOWN)]
    left = [one for one in answers.left_out if one.reason == UNANSWERED]
    assert len(left) > 15
    assert not any(one.on_purpose for one in left)


def test_what_many_ask_is_asked_once() -> None:
    account = Account(over(Denying()))
    calls = []

    def ask() -> str:
        calls.append(1)
        return "answer"

    threads = [threading.Thread(target=account.once, args=("it", ask)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (account.once("it", ask), len(calls)) == ("answer", 1)


def test_an_error_is_the_same_for_all_who_ask() -> None:
    account = Account(over(Denying()))

    def refuse() -> str:
        raise LookupError("nothing")

    for _ in range(2):
        with pytest.raises(LookupError, match="nothing"):
            account.once("it", refuse)


def test_the_worst_of_several_answers_counts() -> None:
    good, bad, unsure = passed("a"), failed("b", "mend b"), unknown("c", "see c")
    assert together([good, good]) == passed("a")
    assert together([good, unsure]) == unsure
    assert together([unsure, bad, good]) == bad
    assert together([bad, failed("d", "mend d")]) == failed("b; d", "mend b")
    assert together([]).verdict is Verdict.UNKNOWN


def test_long_lists_are_shortened() -> None:
    assert listed("abc") == "a, b, c"
    assert listed("abcdefg", 5) == "a, b, c, d, e and 2 more"


def test_ids_are_words_that_can_be_searched_for() -> None:
    ids = [check.id for check in CHECKS]
    assert len(ids) == len(set(ids))
    assert all(name == name.lower() and name.replace("-", "").isalnum() for name in ids)
