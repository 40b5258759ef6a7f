"""What is put into the lifecycle bucket, before the cluster is made, and by whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.synth.build import Synth

COPY = "Custom::CDKBucketDeployment"


def uploads(synth: Synth) -> dict[str, dict[str, Any]]:
    """Upload resources by the first part of their prefix."""
    return {
        body["Properties"]["DestinationBucketKeyPrefix"].split("/")[0]: body
        for body in synth.resources("cluster", COPY).values()
    }


def asset(synth: Synth, key: str) -> Path:
    return synth.folder / f"asset.{key.removesuffix('.zip')}"


def statements(synth: Synth) -> dict[str, dict[str, Any]]:
    """Everything the copying function may do, by Sid."""
    copier, role = copying_role(synth)
    documents = [policy["PolicyDocument"] for policy in role["Properties"]["Policies"]]
    documents += [
        body["Properties"]["PolicyDocument"]
        for body in synth.resources("cluster", "AWS::IAM::Policy").values()
        if body["Properties"]["Roles"] == [{"Ref": copier}]
    ]
    return {each["Sid"]: each for document in documents for each in document["Statement"]}


def copying_role(synth: Synth) -> tuple[str, dict[str, Any]]:
    [found] = synth.resources("cluster", "AWS::IAM::Role").items()
    return found


def joined(value: Any) -> str:
    """A value that CloudFormation joins, with ``*account*`` for what it knows itself."""
    if isinstance(value, dict):
        return "".join(part if isinstance(part, str) else "*account*" for part in value["Fn::Join"][1])
    return str(value)


def test_nodes_start_from_the_bundle_that_is_uploaded(mathstral: Synth) -> None:
    bundle = uploads(mathstral)["lifecycle"]["Properties"]
    where = f"s3://{joined(bundle['DestinationBucketName'])}/{bundle['DestinationBucketKeyPrefix']}"
    [cluster] = mathstral.resources("cluster", "AWS::SageMaker::Cluster").values()
    for group in cluster["Properties"]["InstanceGroups"]:
        assert group["LifeCycleConfig"]["OnCreate"] == "on_create.sh"
        assert joined(group["LifeCycleConfig"]["SourceS3Uri"]) == where


def test_the_cluster_comes_after_both_uploads(example: Synth) -> None:
    depends = set(example.one("cluster", "AWS::SageMaker::Cluster")["DependsOn"])
    assert set(example.resources("cluster", COPY)) <= depends
    assert len(uploads(example)) == 2


def test_an_update_never_takes_files_from_under_running_nodes(mathstral: Synth) -> None:
    for body in uploads(mathstral).values():
        assert (body["Properties"]["RetainOnDelete"], body["Properties"]["Prune"]) == (True, False)


def files(synth: Synth) -> dict[str, Path]:
    """The bundle's files, by path in it."""
    keys = uploads(synth)["lifecycle"]["Properties"]["SourceObjectKeys"]
    return {
        path.relative_to(asset(synth, key)).as_posix(): path
        for key in keys
        for path in asset(synth, key).rglob("*")
        if path.is_file()
    }


def test_the_bundle_holds_what_nodes_need(mathstral: Synth) -> None:
    names = set(files(mathstral))
    needed = {"on_create.sh", "node.json", "SHA256SUMS", "deployed.json", "provisioning_parameters.json"}
    assert needed <= names
    assert sum(path.stat().st_size for path in files(mathstral).values()) < 1 << 20  # least of all data
    assert not {"__pycache__", ".git", ".venv"} & {part for name in names for part in name.split("/")}


@pytest.mark.parametrize(("kind", "there"), [("mathstral", True), ("everything", False)])
def test_the_file_of_roles_is_there_in_scripts_mode_only(
    kind: str, there: bool, request: pytest.FixtureRequest
) -> None:
    assert ("provisioning_parameters.json" in files(request.getfixturevalue(kind))) is there


def test_what_only_cloudformation_knows_is_filled_in_by_it(mathstral: Synth) -> None:
    properties = uploads(mathstral)["lifecycle"]["Properties"]
    text = files(mathstral)["deployed.json"].read_text(encoding="utf-8")
    content = json.loads(text)
    assert content["fsx_dns_name"] in properties["SourceMarkers"][1]
    assert "Token" not in text
    lines = files(mathstral)["provisioning_parameters.json"].read_text().splitlines()
    keys = [line.split('"')[1] for line in lines if line.startswith('  "')]
    assert keys == sorted(set(keys), key=keys.index)  # one key a line, each once
    assert {"controller_group", "worker_groups", "fsx_dns_name", "fsx_mountname"} <= set(keys)


def test_homes_of_their_own_are_told_to_nodes(everything: Synth, mathstral: Synth) -> None:
    told = json.loads(files(everything)["deployed.json"].read_text(encoding="utf-8"))
    assert told["home_dns_name"] in uploads(everything)["lifecycle"]["Properties"]["SourceMarkers"][1]
    assert json.loads(files(mathstral)["deployed.json"].read_text())["home_dns_name"] is None


def test_the_copy_reads_exactly_what_is_copied(example: Synth) -> None:
    keys = {key for body in uploads(example).values() for key in body["Properties"]["SourceObjectKeys"]}
    read = statements(example)["Read"]
    assert read["Action"] == "s3:GetObject"
    assert {joined(arn).rpartition("/")[2] for arn in read["Resource"]} == keys


def test_the_copy_writes_to_its_two_prefixes_and_nowhere_else(example: Synth) -> None:
    bodies = [body["Properties"] for body in uploads(example).values()]
    wanted = {
        f"arn:aws:s3:::{joined(body['DestinationBucketName'])}/{body['DestinationBucketKeyPrefix']}*"
        for body in bodies
    }
    found = statements(example)
    assert {joined(arn) for arn in found["Put"]["Resource"]} == wanted
    prefixes = {body["DestinationBucketKeyPrefix"] for body in bodies}
    assert set(found["Compare"]["Condition"]["StringEquals"]["s3:prefix"]) == prefixes
    allowed = {
        action
        for each in found.values()
        for action in ([each["Action"]] if isinstance(each["Action"], str) else each["Action"])
    }
    assert {action for action in allowed if action.startswith("s3:")} == {
        "s3:AbortMultipartUpload",
        "s3:GetObject",
        "s3:ListBucket",
        "s3:PutObject",
    }
    assert not any(
        joined(each["Resource"]) == "*" for each in found.values() if isinstance(each["Resource"], str)
    )


def test_the_copy_may_use_the_key_through_s3_only(everything: Synth, mathstral: Synth) -> None:
    assert statements(everything)["Encrypt"]["Condition"] == {
        "StringEquals": {"kms:ViaService": "s3.us-west-2.amazonaws.com"}
    }
    assert "Encrypt" not in statements(mathstral)


def test_the_copy_waits_for_its_rights(mathstral: Synth) -> None:
    policies = set(mathstral.resources("cluster", "AWS::IAM::Policy"))
    for body in uploads(mathstral).values():
        assert policies & set(body["DependsOn"])


def test_both_functions_log_to_groups_of_ours_that_expire(mathstral: Synth) -> None:
    functions = [
        (area, body) for area, _, body in mathstral.everything() if body["Type"] == "AWS::Lambda::Function"
    ]
    assert len(functions) == 2
    for area, body in functions:
        group = mathstral.template(area)["Resources"][body["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]]
        assert group["Properties"]["RetentionInDays"] == 30
        assert group["DeletionPolicy"] == "Delete"


def test_custom_resources_are_these_two_kinds(examples: dict[str, Synth]) -> None:
    kinds = {
        body["Type"]
        for synth in examples.values()
        for _, _, body in synth.everything()
        if body["Type"].startswith("Custom::")
    }
    assert kinds == {COPY, "Custom::S3AutoDeleteObjects"}
