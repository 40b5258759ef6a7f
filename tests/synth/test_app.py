"""The app as a whole: hermetic, deterministic, within CloudFormation's limits, as others expect it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.synth.build import STACKS, Synth, synth
from unbroken.config import ClusterConfig, NetworkConfig, WorkerGroup

REPOSITORY = Path(__file__).resolve().parents[2]

OUTPUTS = {
    "network": {"VpcId", "PrivateSubnetId", "SecurityGroupId"},
    "storage": {
        "FileSystemId", "FileSystemDnsName", "FileSystemMountName", "DataBucketName", "LifecycleBucketName",
    },
    "identity": {"ExecutionRoleArn"},
    "cluster": {"ClusterArn", "ClusterName"},
}  # fmt: skip
# Types that take no tags, and CDK's own functions, which the stack's tags reach.
UNTAGGED = {
    "AWS::EC2::Route", "AWS::EC2::SecurityGroupEgress", "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPCGatewayAttachment", "AWS::IAM::Policy",
    "AWS::Lambda::LayerVersion", "AWS::S3::BucketPolicy", "Custom::CDKBucketDeployment",
    "Custom::S3AutoDeleteObjects",
}  # fmt: skip
CDK_PROVIDER = "CustomS3AutoDeleteObjects"


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_same_file_gives_the_same_bytes_anywhere(mathstral: Synth, tmp_path: Path) -> None:
    umask = os.umask(0o077)
    try:
        again = synth(mathstral.config, tmp_path / "a deeper" / "folder")
    finally:
        os.umask(umask)
    first, second = digests(mathstral.folder), digests(again.folder)
    assert [name for name in first | second if first.get(name) != second.get(name)] == []


def test_another_file_gives_other_bytes(mathstral: Synth, largest: Synth) -> None:
    assert digests(mathstral.folder) != digests(largest.folder)


def test_no_path_of_this_machine_and_no_guessed_zone_gets_out(mathstral: Synth) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in mathstral.folder.glob("*.json"))
    for word in (str(REPOSITORY), str(Path.home()), "/tmp", "dummy1", "site-packages"):
        assert word not in text, word
    assert json.loads((mathstral.folder / "manifest.json").read_text()).get("missing") is None


def run_app(folder: Path, context: dict[str, str], **env: str) -> subprocess.CompletedProcess[str]:
    """The app as the cdk command runs it, without credentials, settings or a home."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "AWS_EC2_METADATA_DISABLED": "true", **env}
    clean |= {"CDK_OUTDIR": str(folder / "out"), "CDK_CONTEXT_JSON": json.dumps(context)}
    command = [sys.executable, "app.py"]
    return subprocess.run(command, cwd=REPOSITORY, env=clean, capture_output=True, text=True, timeout=120)


def test_the_app_needs_no_account_and_writes_the_same(mathstral: Synth, tmp_path: Path) -> None:
    done = run_app(tmp_path, {})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert digests(tmp_path / "out") == digests(mathstral.folder)


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


@pytest.mark.parametrize("area", STACKS)
def test_outputs_carry_the_names_that_others_read(area: str, mathstral: Synth) -> None:
    outputs = {name for name in mathstral.template(area)["Outputs"] if not name.startswith("Publish")}
    assert outputs == OUTPUTS[area]
    assert not any("Export" in output for output in mathstral.template(area)["Outputs"].values())


def manifest(synth: Synth) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((synth.folder / "manifest.json").read_text(encoding="utf-8"))
    return content["artifacts"]  # type: ignore[no-any-return]  # JSON


def test_stacks_stand_on_each_other_in_one_direction(mathstral: Synth) -> None:
    stands_on = {
        name.removeprefix("ml-cluster-"): {
            other.removeprefix("ml-cluster-")
            for other in body["dependencies"]
            if not other.endswith(".assets")
        }
        for name, body in manifest(mathstral).items()
        if body["type"] == "aws:cloudformation:stack"
    }
    assert stands_on == {
        "network": set(),
        "storage": {"network"},
        "identity": set(),
        "cluster": {"network", "storage", "identity"},
    }


def test_the_region_is_the_files_and_the_account_is_whoever_deploys(mathstral: Synth) -> None:
    environments = {body.get("environment") for body in manifest(mathstral).values()} - {None}
    assert environments == {"aws://unknown-account/us-west-2"}


def tags(body: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in body["Properties"].get("Tags", [])}


@pytest.mark.parametrize("shape", ["mathstral", "largest"])
def test_everything_says_whose_it_is(shape: str, request: pytest.FixtureRequest) -> None:
    synth: Synth = request.getfixturevalue(shape)
    for _, name, body in synth.everything():
        if body["Type"] not in UNTAGGED and not name.startswith(CDK_PROVIDER):
            assert tags(body).get("unbroken:cluster") == synth.config.name, name
            assert set(synth.config.tags.items()) <= set(tags(body).items())
    for body in manifest(synth).values():
        if body["type"] == "aws:cloudformation:stack":
            assert body["properties"]["tags"]["unbroken:cluster"] == synth.config.name


@pytest.mark.parametrize("area", STACKS)
def test_the_largest_cluster_fits_into_cloudformation(area: str, largest: Synth) -> None:
    """Limits: AWS CloudFormation user guide, "Understand CloudFormation quotas"."""
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
    network = NetworkConfig(availability_zone_id=zone)
    cluster = ClusterConfig(name="other", region=region, network=network, worker_groups=[worker])
    elsewhere = synth(cluster, tmp_path)
    text = "".join(json.dumps(elsewhere.template(area)) for area in STACKS)
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


@pytest.mark.parametrize("area", STACKS)
def test_nothing_depends_on_itself(area: str, largest: Synth) -> None:
    resources = largest.template(area)["Resources"]
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
