"""The app as a whole: hermetic, deterministic, within CloudFormation's limits, as others expect it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.synth.app_process import run_app
from tests.synth.build import AREAS, REPOSITORY, Synth, synth
from unbroken.config import (
    BudgetConfig,
    ClusterConfig,
    EncryptionConfig,
    NetworkConfig,
    ObservabilityConfig,
    SlurmConfig,
    WorkerGroup,
)

# By stack, those of every cluster, and those of some.
OUTPUTS = {
    "encryption": ({"KmsKeyArn"}, set()),
    "network": ({"VpcId", "PrivateSubnetId", "SecurityGroupId"}, {"SubnetSpareZoneId"}),
    "storage": (
        {"FileSystemId", "FileSystemDnsName", "FileSystemMountName", "LifecycleBucketName"},
        {"DataBucketName", "HomeFileSystemId", "HomeDnsName", "KmsKeyArn"},
    ),
    "identity": ({"ExecutionRoleArn"}, set()),
    "cluster": ({"ClusterArn", "ClusterName", "LifecycleUri"}, set()),
    "observability": (set(), {"PrometheusWorkspaceId", "PrometheusRemoteWriteUrl", "GrafanaUrl"}),
    "budget": (set(), set()),
}  # fmt: skip
# Types that take no tags, and CDK's own functions, which the stack's tags reach.
UNTAGGED = {
    "AWS::CloudFormation::WaitConditionHandle", "AWS::KMS::Alias",
    "AWS::EC2::Route", "AWS::EC2::SecurityGroupEgress", "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPCGatewayAttachment", "AWS::IAM::Policy",
    "AWS::Lambda::LayerVersion", "AWS::S3::BucketPolicy", "Custom::CDKBucketDeployment",
    "Custom::S3AutoDeleteObjects",
}  # fmt: skip
CDK_PROVIDER = "CustomS3AutoDeleteObjects"


def test_the_context_names_the_file_before_the_environment_does(tmp_path: Path) -> None:
    done = run_app(tmp_path, {"cluster": "no-such.yaml"}, UNBROKEN_CLUSTER="nor-this.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith("no-such.yaml: cannot be read: No such file or directory")


def test_a_wrong_file_ends_in_a_message_and_nothing_else(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("name: ml-cluster\nworker_group: []\n", encoding="utf-8")
    done = run_app(tmp_path, {"cluster": str(wrong)})
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean worker_groups" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def outputs(synth: Synth, area: str) -> dict[str, Any]:
    """Without those that CDK makes for other stacks."""
    found = synth.template(area).get("Outputs", {})
    return {name: body for name, body in found.items() if not name.startswith("Publish")}


def test_outputs_carry_the_names_that_others_read(example: Synth) -> None:
    for area in example.areas:
        always, sometimes = OUTPUTS[area]
        assert always <= set(outputs(example, area)) <= always | sometimes, area
        assert not any("Export" in body for body in outputs(example, area).values())


def test_every_output_is_some_examples(examples: dict[str, Synth]) -> None:
    for area, (always, sometimes) in OUTPUTS.items():
        made = set().union(*(outputs(each, area) for each in examples.values() if area in each.areas))
        assert made == always | sometimes


def test_what_is_brought_along_is_told_all_the_same(brought: Synth) -> None:
    network, identity = outputs(brought, "network"), outputs(brought, "identity")
    assert {name: body["Value"] for name, body in network.items()} == {
        "VpcId": "vpc-0123456789abcdef0",
        "PrivateSubnetId": "subnet-0123456789abcdef0",
        "SecurityGroupId": "sg-0123456789abcdef0",
    }
    assert identity["ExecutionRoleArn"]["Value"] == brought.config.identity.execution_role_arn


def stands_on(synth: Synth) -> dict[str, set[str]]:
    """The stacks that each stack waits for."""
    return {
        name.removeprefix(f"{synth.config.name}-"): {
            other.removeprefix(f"{synth.config.name}-")
            for other in body["dependencies"]
            if not other.endswith(".assets")
        }
        for name, body in synth.artifacts.items()
        if body["type"] == "aws:cloudformation:stack"
    }


def test_stacks_stand_on_each_other_in_one_direction(example: Synth) -> None:
    for area, others in stands_on(example).items():
        assert all(AREAS.index(other) < AREAS.index(area) for other in others), area


def test_nothing_waits_for_what_may_fail_by_itself(everything: Synth) -> None:
    """Grafana needs an identity provider, and a budget the right to billing; the cluster needs neither."""
    waits = stands_on(everything)
    assert {"observability", "budget"} <= set(waits)
    assert not any({"observability", "budget"} & others for others in waits.values())


def test_the_region_is_the_files_and_the_account_is_whoever_deploys(mathstral: Synth) -> None:
    environments = {body.get("environment") for body in mathstral.artifacts.values()} - {None}
    assert environments == {"aws://unknown-account/us-west-2"}


def tags(body: dict[str, Any]) -> dict[str, str]:
    properties = body.get("Properties", {})
    found = properties.get("Tags") or properties.get("ResourceTags") or []
    return dict(found) if isinstance(found, dict) else {tag["Key"]: tag["Value"] for tag in found}


def check_tags(synth: Synth) -> None:
    """Every resource that can says whose it is."""
    for _, name, body in synth.everything():
        if body["Type"] not in UNTAGGED and not name.startswith(CDK_PROVIDER):
            assert tags(body).get("unbroken:cluster") == synth.config.name, name
            assert set(synth.config.tags.items()) <= set(tags(body).items())
    for body in synth.artifacts.values():
        if body["type"] == "aws:cloudformation:stack":
            assert body["properties"]["tags"]["unbroken:cluster"] == synth.config.name


def test_everything_says_whose_it_is(example: Synth) -> None:
    check_tags(example)


def test_everything_says_so_with_all_tags_there_can_be(largest: Synth) -> None:
    check_tags(largest)


def test_stacks_are_protected_only_if_asked_for(everything: Synth, mathstral: Synth) -> None:
    for each, wanted in ((everything, True), (mathstral, False)):
        stacks = [body for body in each.artifacts.values() if body["type"] == "aws:cloudformation:stack"]
        assert {bool(body["properties"].get("terminationProtection")) for body in stacks} == {wanted}


def test_every_stack_describes_itself(example: Synth) -> None:
    for area in example.areas:
        assert example.template(area)["Description"].endswith(f"of HyperPod cluster {example.config.name}")


def test_the_largest_cluster_fits_into_cloudformation(largest: Synth) -> None:
    """Limits: AWS CloudFormation user guide, "Understand CloudFormation quotas"."""
    for area in largest.areas:
        template = largest.template(area)
        assert len(json.dumps(template)) < 1_000_000
        assert len(template["Resources"]) < 500
        assert len(template["Outputs"]) < 200
        assert len(f"{largest.config.name}-{area}") <= 128
        assert all(len(name) <= 255 for name in (*template["Resources"], *template["Outputs"]))


@pytest.mark.parametrize(
    ("region", "zone", "partition"),
    [("eu-central-1", "euc1-az2", "aws"), ("us-gov-west-1", "usgw1-az1", "aws-us-gov")],
)
def test_another_region_is_named_everywhere(region: str, zone: str, partition: str, tmp_path: Path) -> None:
    worker = WorkerGroup(name="w", instance_type="ml.p5.48xlarge", num_instances=1)
    cluster = ClusterConfig(
        name="other",
        region=region,
        network=NetworkConfig(availability_zone_id=zone, no_internet=True),
        encryption=EncryptionConfig(kms_key="create"),
        observability=ObservabilityConfig(prometheus="create"),
        slurm=SlurmConfig(mode="api"),
        budget=BudgetConfig(monthly_usd=1, emails=["team@example.com"]),
        worker_groups=[worker],
    )
    elsewhere = synth(cluster, tmp_path)
    assert set(elsewhere.areas) == set(AREAS)
    text = "".join(json.dumps(elsewhere.template(area)) for area in elsewhere.areas)
    assert set(re.findall(r"\b(?:us|eu|ap)(?:-gov)?-(?:west|east|central)-\d\b", text)) == {region}
    assert set(re.findall(r"arn:(aws[a-z-]*):", text)) == {partition}


def references(body: Any) -> set[str]:
    """Logical ids that a resource names."""
    if isinstance(body, dict):
        found = set().union(*(references(value) for value in body.values()))
        found |= {body["Ref"]} if isinstance(body.get("Ref"), str) else set()
        found |= {body["Fn::GetAtt"][0]} if "Fn::GetAtt" in body else set()
        return found
    if isinstance(body, list):
        return set().union(*(references(value) for value in body))
    return set()


@pytest.mark.parametrize("area", AREAS)
def test_nothing_depends_on_itself(area: str, everything: Synth) -> None:
    resources = everything.template(area)["Resources"]
    waits_for = {
        name: (references(body["Properties"]) | set(body.get("DependsOn", []))) & set(resources)
        for name, body in resources.items()
    }
    while waits_for:
        ready = {name for name, others in waits_for.items() if not others & set(waits_for)}
        assert ready, f"a circle among {sorted(waits_for)}"
        waits_for = {name: others for name, others in waits_for.items() if name not in ready}


def test_cdk_json_is_what_the_command_line_needs() -> None:
    settings = json.loads((REPOSITORY / "cdk.json").read_text(encoding="utf-8"))
    assert settings["app"] == "python app.py"
    assert settings["context"]["@aws-cdk/core:defaultCrossStackReferences"] == "weak"
    assert not [key for key in settings["context"] if not re.match(r"@aws-cdk", key)]  # no settings of ours
    for setting in ("versionReporting", "pathMetadata", "assetMetadata", "validation"):
        assert settings[setting] is False
