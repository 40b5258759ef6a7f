"""The cluster template: groups as in the cluster file, and files in place before nodes ask for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.synth.build import Synth


def groups(synth: Synth) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = synth.one("cluster", "AWS::SageMaker::Cluster")["Properties"][
        "InstanceGroups"
    ]
    return found


def uploads(synth: Synth) -> dict[str, dict[str, Any]]:
    """Upload resources by the first part of their prefix."""
    return {
        body["Properties"]["DestinationBucketKeyPrefix"].split("/")[0]: body
        for body in synth.resources("cluster", "Custom::CDKBucketDeployment").values()
    }


def test_the_groups_are_the_cluster_files(mathstral: Synth) -> None:
    assert [
        (group["InstanceGroupName"], group["InstanceType"], group["InstanceCount"])
        for group in groups(mathstral)
    ] == [("controller-machine", "ml.m5.12xlarge", 1), ("worker-group-1", "ml.p4de.24xlarge", 4)]
    volumes = [group.get("InstanceStorageConfigs") for group in groups(mathstral)]
    assert volumes == [[{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}], None]


@pytest.mark.parametrize("shape", ["mathstral", "largest"])
def test_threads_per_core_is_always_said(shape: str, request: pytest.FixtureRequest) -> None:
    assert {group["ThreadsPerCore"] for group in groups(request.getfixturevalue(shape))} == {1}


@pytest.mark.parametrize(("shape", "recovery"), [("mathstral", "Automatic"), ("largest", "None")])
def test_node_recovery(shape: str, recovery: str, request: pytest.FixtureRequest) -> None:
    synth: Synth = request.getfixturevalue(shape)
    cluster = synth.one("cluster", "AWS::SageMaker::Cluster")["Properties"]
    assert cluster["NodeRecovery"] == recovery
    assert "Orchestrator" not in cluster  # HyperPod learns of Slurm from provisioning_parameters.json


def test_nodes_start_from_the_bundle_that_is_uploaded(mathstral: Synth) -> None:
    bundle = uploads(mathstral)["lifecycle"]["Properties"]
    bucket = bundle["DestinationBucketName"]["Fn::Join"][1]
    for group in groups(mathstral):
        assert group["LifeCycleConfig"]["OnCreate"] == "on_create.sh"
        parts = group["LifeCycleConfig"]["SourceS3Uri"]["Fn::Join"][1]
        prefix = bundle["DestinationBucketKeyPrefix"]
        assert parts == [f"s3://{bucket[0]}", *bucket[1:-1], f"{bucket[-1]}/{prefix}"]


def test_the_cluster_comes_after_both_uploads(mathstral: Synth) -> None:
    depends = set(mathstral.one("cluster", "AWS::SageMaker::Cluster")["DependsOn"])
    assert set(mathstral.resources("cluster", "Custom::CDKBucketDeployment")) <= depends
    assert len(uploads(mathstral)) == 2


def test_an_update_never_takes_files_from_under_running_nodes(mathstral: Synth) -> None:
    for body in uploads(mathstral).values():
        assert (body["Properties"]["RetainOnDelete"], body["Properties"]["Prune"]) == (True, False)


def asset(synth: Synth, key: str) -> Path:
    return synth.folder / f"asset.{key.removesuffix('.zip')}"


def test_the_bundle_that_is_uploaded_holds_what_nodes_need(mathstral: Synth) -> None:
    keys = uploads(mathstral)["lifecycle"]["Properties"]["SourceObjectKeys"]
    names = {path.name for key in keys for path in asset(mathstral, key).iterdir()}
    assert {
        "on_create.sh",
        "node.json",
        "SHA256SUMS",
        "deployed.json",
        "provisioning_parameters.json",
    } <= names
    size = sum(path.stat().st_size for key in keys for path in asset(mathstral, key).rglob("*"))
    assert size < 1 << 20  # nothing large travels with the bundle, least of all data
    litter = {"__pycache__", ".git", ".venv"}
    assert not litter & {
        part for key in keys for path in asset(mathstral, key).rglob("*") for part in path.parts
    }


def test_what_only_cloudformation_knows_is_filled_in_by_it(mathstral: Synth) -> None:
    properties = uploads(mathstral)["lifecycle"]["Properties"]
    _, deployed, parameters = properties["SourceObjectKeys"]
    text = (asset(mathstral, deployed) / "deployed.json").read_text(encoding="utf-8")
    content = json.loads(text)
    assert content["fsx_dns_name"] in properties["SourceMarkers"][1]
    assert "Token" not in text
    lines = (asset(mathstral, parameters) / "provisioning_parameters.json").read_text().splitlines()
    keys = [line.split('"')[1] for line in lines if line.startswith('  "')]
    assert keys == sorted(set(keys), key=keys.index)  # one key a line, each once
    assert {"controller_group", "worker_groups", "fsx_dns_name", "fsx_mountname"} <= set(keys)


def test_both_functions_log_to_groups_of_ours_that_expire(mathstral: Synth) -> None:
    functions = [
        (area, body) for area, _, body in mathstral.everything() if body["Type"] == "AWS::Lambda::Function"
    ]
    assert len(functions) == 2
    for area, body in functions:
        group = mathstral.template(area)["Resources"][body["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]]
        assert group["Properties"]["RetentionInDays"] == 30
        assert group["DeletionPolicy"] == "Delete"


def test_custom_resources_are_these_two_kinds(mathstral: Synth, largest: Synth) -> None:
    for synth in (mathstral, largest):
        kinds = {body["Type"] for _, _, body in synth.everything() if body["Type"].startswith("Custom::")}
        assert kinds == {"Custom::CDKBucketDeployment", "Custom::S3AutoDeleteObjects"}
