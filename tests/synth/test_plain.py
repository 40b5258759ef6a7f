"""Plain templates (`unbroken export cloudformation`): the same cluster, with nothing of CDK's bootstrap."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cfnlint.api import lint_file

from stacks.node_runtime import use_packaged_node
from tests.synth.build import EXAMPLES, Synth
from unbroken import config

BOOTSTRAP = ("cdk-hnb659fds", "BootstrapVersion", "Custom::", "AWS::Lambda::", "aws-cdk:auto-delete-objects")
LINTED = ("everything", "existing-vpc")
"""With every option, and with stacks that make nothing; cfn-lint takes a second for each example."""
OURS = ("AWS::Lambda::", "Custom::")
# CDK itself writes DependsOn beside a reference that says the same.
IGNORED = {"W3005"}


@pytest.fixture(scope="module", params=EXAMPLES)
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """Each cluster file of the repository, as plain templates."""
    use_packaged_node(os.environ)
    from stacks.app import build_app  # after the Node.js it runs on is chosen

    loaded, folder = config.load(EXAMPLES[request.param]), tmp_path_factory.mktemp(request.param)
    build_app(loaded, folder, plain=True).synth()
    return Synth(loaded, folder)


@pytest.fixture
def bootstrapped(plain: Synth, examples: dict[str, Synth]) -> Synth:
    """The same cluster as cdk deploys it."""
    [found] = [made for made in examples.values() if made.config == plain.config]
    return found


def kinds(synth: Synth, area: str) -> dict[str, str]:
    """Types of what makes up the cluster, by logical id: not of what copies or empties for CDK."""
    resources = synth.template(area)["Resources"].items()
    return {name: body["Type"] for name, body in resources if not body["Type"].startswith(OURS)}


def test_nothing_of_the_bootstrap_is_asked_for(plain: Synth) -> None:
    text = "".join(plain.path(area).read_text(encoding="utf-8") for area in plain.areas)
    assert [word for word in BOOTSTRAP if word in text] == []
    assert not list(plain.folder.glob("asset.*"))


def test_with_the_bootstrap_it_would_be(bootstrapped: Synth) -> None:
    text = "".join(bootstrapped.path(area).read_text(encoding="utf-8") for area in bootstrapped.areas)
    assert "cdk-hnb659fds" in text and "Custom::CDKBucketDeployment" in text


def test_the_cluster_is_the_same(plain: Synth, bootstrapped: Synth) -> None:
    assert plain.areas == bootstrapped.areas
    for area in plain.areas:
        mine, theirs = kinds(plain, area), kinds(bootstrapped, area)
        assert mine.items() <= theirs.items()
        helpers = {name for name in theirs if name not in mine}
        assert all(name.startswith(("Uploads", "Custom", "AutoDelete")) for name in helpers), helpers
    same = ("AWS::SageMaker::Cluster", "AWS::FSx::FileSystem", "AWS::EC2::VPC")
    for area in plain.areas:
        for kind in same:
            assert properties(plain, area, kind) == properties(bootstrapped, area, kind)


def properties(synth: Synth, area: str, kind: str) -> dict[str, object]:
    return {name: body["Properties"] for name, body in synth.resources(area, kind).items()}


def test_values_of_other_stacks_are_there_to_be_had(plain: Synth) -> None:
    """Each Fn::GetStackOutput names an output of a stack that is deployed before."""
    outputs: set[tuple[str, str]] = set()
    for area in plain.areas:
        template = plain.template(area)
        asked = set(lookups(template["Resources"]))
        assert asked <= outputs, area
        outputs |= {(f"{plain.config.name}-{area}", name) for name in template.get("Outputs", {})}


def lookups(value: object) -> list[tuple[str, str]]:
    """Stack and output of every lookup."""
    if isinstance(value, dict):
        here = value.get("Fn::GetStackOutput")
        found = [(here["StackName"], here["OutputName"])] if here else []
        return found + [each for item in value.values() for each in lookups(item)]
    return [each for item in value for each in lookups(item)] if isinstance(value, list) else []


@pytest.mark.parametrize("plain", LINTED, indirect=True)
def test_they_are_clean(plain: Synth, tmp_path: Path) -> None:
    for area in plain.areas:
        (tmp_path / f"{area}.json").write_text(json.dumps(plain.template(area)))
        found = [str(match) for match in lint_file(tmp_path / f"{area}.json") if match.rule.id not in IGNORED]
        assert found == []
