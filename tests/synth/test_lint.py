"""cfn-lint finds nothing, and would find something."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import lint_file

from tests.synth.build import STACKS, Synth

# CDK itself writes DependsOn beside a reference that says the same.
IGNORED = {"W3005"}


def findings(path: Path) -> list[str]:
    return [str(match) for match in lint_file(path) if match.rule.id not in IGNORED]


@pytest.mark.parametrize("shape", ["mathstral", "largest"])
@pytest.mark.parametrize("area", STACKS)
def test_templates_are_clean(area: str, shape: str, request: pytest.FixtureRequest) -> None:
    synth: Synth = request.getfixturevalue(shape)
    assert findings(synth.folder / f"{synth.config.name}-{area}.template.json") == []


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
