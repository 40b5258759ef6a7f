"""cfn-lint finds nothing in the region of each example, nor in seven others, and would find something."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint_file

from tests.synth.build import EXAMPLES, Synth
from tests.synth.conftest import Synthesize
from unbroken.catalog import regions

# CDK itself writes DependsOn beside a reference that says the same.
IGNORED = {"W3005"}
EIGHT = (
    "ap-northeast-1", "ap-south-1", "ap-southeast-2", "eu-central-1", "eu-west-1", "sa-east-1", "us-east-1",
    "us-west-2",
)  # fmt: skip
"""Regions with HyperPod on five continents."""
TYPE_MISSING = "E3006"
MISSING = {("AWS::Grafana::Workspace", "sa-east-1"), ("AWS::Grafana::Workspace", "ap-south-1")}
"""Types that a region has not, by cfn-lint's data of 2026-10: `grafana: create` cannot work there."""
WIDEST = ("everything", "existing-vpc")
"""Examples that together have every type of resource there is."""


def findings(path: Path, in_regions: Iterable[str] = ()) -> list[str]:
    """Rule and message of each match, warnings included."""
    arguments = ManualArgs(regions=list(in_regions)) if in_regions else None
    matches = lint_file(path, config=arguments)
    return [f"{match.rule.id} {match.message}" for match in matches if match.rule.id not in IGNORED]


@pytest.mark.parametrize("name", EXAMPLES)
def test_templates_are_clean_in_their_region(name: str, synthesized: Synthesize) -> None:
    example = synthesized(name)
    for area in example.areas:
        assert findings(example.path(area), [example.config.region]) == [], area


def test_the_largest_cluster_is_clean_too(largest: Synth) -> None:
    for area in largest.areas:
        assert findings(largest.path(area)) == [], area


def test_the_eight_regions_have_hyperpod() -> None:
    assert len(EIGHT) == 8
    assert set(EIGHT) <= regions.with_hyperpod()


def test_templates_are_clean_in_eight_regions_but_for_types_that_are_missing(synthesized: Synthesize) -> None:
    found = [
        finding
        for name in WIDEST
        for area in synthesized(name).areas
        for finding in findings(synthesized(name).path(area), EIGHT)
    ]
    assert [finding for finding in found if not finding.startswith(TYPE_MISSING)] == []
    pairs = {
        (kind, region) for finding in found for kind, region in re.findall(r"'(\S+::\S+)' .*'(\S+)'", finding)
    }
    assert pairs == MISSING


def test_those_two_examples_have_every_type(examples: dict[str, Synth]) -> None:
    def types(names: Iterable[str]) -> set[str]:
        return {body["Type"] for name in names for _, _, body in examples[name].everything()}

    assert types(WIDEST) == types(examples)


@pytest.mark.parametrize(
    "change",
    [{"InstanceCont": 1}, {"ThreadsPerCore": 3}, {"InstanceGroupName": "a_b"}, {"InstanceType": "p4de"}],
)
def test_a_wrong_group_is_found(change: dict[str, Any], mathstral: Synth, tmp_path: Path) -> None:
    template = mathstral.template("cluster")
    template["Resources"]["Cluster"]["Properties"]["InstanceGroups"][0] |= change
    path = tmp_path / "wrong.template.json"
    path.write_text(json.dumps(template), encoding="utf-8")
    assert findings(path)


def test_an_instance_type_that_a_region_has_not_is_found(synthesized: Synthesize) -> None:
    """So an example that moves to another region is looked at again."""
    p5en = synthesized("p5en-training-plan")
    assert any("ml.p5en.48xlarge" in finding for finding in findings(p5en.path("cluster"), ["eu-west-1"]))
