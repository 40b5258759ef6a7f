"""Every statement says what it is for, and the page that lists them is the templates'."""

from __future__ import annotations

import pytest

from tests.synth import pages
from tests.synth.build import Synth
from tests.synth.permissions_page import HOLDERS, PURPOSE, unexplained


def test_every_statement_has_a_purpose(example: Synth) -> None:
    silent = {name: unexplained(body) for _, name, body in example.everything() if body["Type"] in HOLDERS}
    assert {name: sids for name, sids in silent.items() if sids} == {}


@pytest.mark.parametrize("purpose", [None, "", "Reads"])
def test_a_statement_without_one_is_found(purpose: str | None, mathstral: Synth) -> None:
    role = mathstral.one("identity", "AWS::IAM::Role")
    role["Metadata"][PURPOSE].pop("Objects")
    if purpose is not None:
        role["Metadata"][PURPOSE]["Objects"] = purpose
    assert unexplained(role) == ["Objects"]


def test_a_statement_without_a_name_is_found(mathstral: Synth) -> None:
    role = mathstral.one("identity", "AWS::IAM::Role")
    del role["Properties"]["Policies"][0]["PolicyDocument"]["Statement"][0]["Sid"]
    assert any("s3:GetObject" in each for each in unexplained(role))


def test_nothing_is_granted_by_a_managed_policy(example: Synth) -> None:
    for _, name, body in example.everything():
        assert "ManagedPolicyArns" not in body.get("Properties", {}), name
        assert body["Type"] != "AWS::IAM::ManagedPolicy", name


def test_the_pages_are_those_of_the_templates(examples: dict[str, Synth]) -> None:
    for path, text in pages.texts(examples).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: accept with: make golden"


def test_the_page_names_every_role(examples: dict[str, Synth]) -> None:
    [text] = [text for path, text in pages.texts(examples).items() if path.name == "permissions.md"]
    for each in examples.values():
        for _, _, body in each.everything():
            for sid in body.get("Metadata", {}).get(PURPOSE, {}):
                assert f"- **{sid}**: " in text
    assert "ml-cluster" not in text
    assert "111122223333" not in text
