"""Preflight against the embedded AWS: what that does not know is UNKNOWN, never PASS."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsal.aws.network import resource
from tests.rehearsal.aws.support import Stacks, template
from tests.unit.checks import subjects
from unbroken.checks.every import CHECKS
from unbroken.checks.result import Result, Verdict
from unbroken.checks.runner import answer
from unbroken.checks.subject import Account, Subject
from unbroken.ops.target import on_embedded
from unbroken.rehearsal.composition import Rehearsal

OF_ACCOUNT = [check for check in CHECKS if check.area.of_account]
NOT_EMULATED = ("quota-", "permissions-deployer", "permissions-cloudformation", "permissions-nodes")
"""Service Quotas and the policy simulator are no part of the embedded AWS."""


@pytest.fixture
def subject(rehearsal: Rehearsal, tmp_path: Path) -> Subject:
    aws = on_embedded(rehearsal.aws.port, "us-west-2").aws
    made = subjects.subject(tmp_path, aws=aws)
    return Subject(made.path, made.config, made.bundles, made.templates, made.programs, Account(aws))


def results(subject: Subject) -> dict[str, Result]:
    return {result.id: result for result in answer(OF_ACCOUNT, subject).results}


def test_what_is_not_emulated_is_unknown(subject: Subject) -> None:
    found = results(subject)
    strange = {name: one for name, one in found.items() if name.startswith(NOT_EMULATED)}
    assert len(strange) == 12
    assert {one.verdict for one in strange.values()} == {Verdict.UNKNOWN}
    assert {one.outcome.found.startswith("the check itself failed") for one in found.values()} == {False}


def test_what_is_emulated_is_answered(subject: Subject) -> None:
    found = results(subject)
    for name in ("account-region", "zone-available", "names-stacks", "names-cluster", "names-buckets"):
        assert found[name].verdict is Verdict.PASS, found[name]
    assert "there is no parameter" in found["account-bootstrap"].outcome.found


def test_a_stack_that_is_there_is_seen(subject: Subject, stacks: Stacks) -> None:
    body = template({"Ip": resource("AWS::EC2::EIP")}, None)
    stacks.api.create_stack(StackName="ml-network", TemplateBody=body)
    try:
        assert stacks.settled("ml-network").status == "CREATE_COMPLETE"
        assert "ml-network: CREATE_COMPLETE" in results(subject)["names-stacks"].outcome.found
    finally:
        stacks.delete("ml-network")
