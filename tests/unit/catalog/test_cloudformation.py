"""CloudFormation's names are those of what the templates hold."""

from __future__ import annotations

from unbroken.catalog import cloudformation, replacement


def test_what_has_a_word_of_its_own_is_in_the_templates() -> None:
    assert set(cloudformation.NOUNS) <= set(replacement.TYPES)
    assert cloudformation.noun("AWS::EC2::EIP") == "AWS::EC2::EIP"


def test_what_holds_data_has_a_word_of_its_own() -> None:
    assert set(cloudformation.NOUNS) > cloudformation.HOLDS_DATA
