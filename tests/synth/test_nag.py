"""cdk-nag's AwsSolutions rules: nothing open, nothing accepted in vain or without a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.synth.accepted import ACCEPTED
from tests.synth.build import EXAMPLES
from tests.synth.security import Accepted, Finding, findings, open_findings
from unbroken import config


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Finding]]:
    """Findings of every example."""
    return {
        name: findings(config.load(path), tmp_path_factory.mktemp(name)) for name, path in EXAMPLES.items()
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_open(name: str, found: dict[str, set[Finding]]) -> None:
    assert open_findings(found[name], ACCEPTED) == []


def test_nothing_is_accepted_that_is_not_found(found: dict[str, set[Finding]]) -> None:
    every = set().union(*found.values())
    assert [each for each in ACCEPTED if not any(each.covers(finding) for finding in every)] == []


@pytest.mark.parametrize("accepted", ACCEPTED, ids=lambda each: f"{each.rule} {each.resource}")
def test_every_acceptance_says_why(accepted: Accepted) -> None:
    assert len(accepted.reason.split()) >= 10
    assert accepted.reason.endswith(".")


def test_what_is_not_accepted_is_open(found: dict[str, set[Finding]]) -> None:
    without = [each for each in ACCEPTED if each.rule != "S1"]
    assert {finding.rule for finding in open_findings(found["mathstral"], without)} == {"S1"}


def test_a_careless_bucket_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that somebody made without private_bucket's settings."""
    from aws_cdk import aws_s3

    from stacks import app
    from stacks.network import NetworkStack

    class Careless(NetworkStack):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            aws_s3.CfnBucket(self, "Careless")

    monkeypatch.setattr(app, "NetworkStack", Careless)
    found = findings(config.load(EXAMPLES["small"]), tmp_path)
    rules = {each.rule for each in open_findings(found, ACCEPTED) if each.resource == "network/Careless"}
    assert {"S1", "S10"} <= rules
