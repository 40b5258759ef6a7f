"""Checks of the account: a good, a bad and a no-permission case each, from shapes that botocore validates."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.unit.checks import subjects, templates
from tests.unit.checks.account import HEALTHY
from tests.unit.checks.cases import ALSO_GOOD, BAD, GOOD, Case
from tests.unit.checks.recorded import Denying, Silent, aws
from unbroken.aws import Aws
from unbroken.aws.facade import over
from unbroken.checks.check import Check
from unbroken.checks.every import CHECKS
from unbroken.checks.result import Outcome, Verdict
from unbroken.checks.runner import answer
from unbroken.checks.subject import Subject

OF_ACCOUNT = [check for check in CHECKS if check.area.of_account]
BY_ID = {check.id: check for check in CHECKS}
ASKS_NO_AWS = {"accounting-endpoint"}
"""Asks this machine's resolver."""


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is looked up for real."""
    address = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.7", 3306))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: address)


def with_alias() -> templates.Documents:
    found = templates.documents()
    found["storage"]["Resources"]["Alias"] = templates.of("AWS::KMS::Alias", AliasName="alias/ml")
    return found


def outcome(check: Check, subject: Subject) -> Outcome:
    [result] = answer([check], subject).results
    return result.outcome


def the_subject(case: Case, folder: Path, account: Aws) -> Subject:
    return subjects.subject(folder, case.config, account, with_alias())


@pytest.mark.parametrize("case", [*GOOD, *ALSO_GOOD, *BAD], ids=str)
def test_a_recorded_account(case: Case, tmp_path: Path) -> None:
    subject = the_subject(case, tmp_path, aws(HEALTHY | case.answers))
    found = outcome(BY_ID[case.check], subject)
    assert (found.verdict, case.words in found.found) == (case.verdict, True), found
    assert bool(found.fix) == (found.verdict is not Verdict.PASS)


def test_every_check_of_the_account_has_a_good_and_a_bad_case() -> None:
    ids = {check.id for check in OF_ACCOUNT}
    assert {case.check for case in GOOD} == ids
    assert {case.check for case in BAD} == ids - ASKS_NO_AWS


@pytest.mark.parametrize("case", [case for case in GOOD if case.check not in ASKS_NO_AWS], ids=str)
@pytest.mark.parametrize("session", [Denying, Silent])
def test_no_permission_and_no_answer_are_unknown(case: Case, session: Any, tmp_path: Path) -> None:
    """What passes in a healthy account passes in none that says nothing."""
    subject = the_subject(case, tmp_path, over(session()))
    found = outcome(BY_ID[case.check], subject)
    assert found.verdict is Verdict.UNKNOWN, found
    assert found.fix


def test_a_name_that_does_not_resolve_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nothing)
    subject = subjects.subject(tmp_path, subjects.WITH_DATABASE, aws(HEALTHY))
    found = outcome(BY_ID["accounting-endpoint"], subject)
    assert (found.verdict, found.found) == (
        Verdict.UNKNOWN,
        "accounting.example.com: Name or service not known",
    )


def test_each_call_is_a_permission_that_the_check_names(tmp_path: Path) -> None:
    """So that the page of permissions is complete."""
    for case in GOOD:
        account = aws(HEALTHY | case.answers)
        outcome(BY_ID[case.check], the_subject(case, tmp_path, account))
        named = {name.split(":")[1].lower() for name in BY_ID[case.check].calls}
        asked = {call.split(".")[1].replace("_", "") for call in account.session.asked}  # type: ignore[attr-defined]
        same = {"headbucket": "listbucket", "listobjectsv2": "listbucket", "listbuckets": "listallmybuckets"}
        needs_none = {"getcalleridentity"}
        assert {same.get(call, call) for call in asked} - needs_none <= named, case.check
