"""CDK's two custom resources, replayed; and buckets that are deleted only when they are empty."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.rehearsal.aws.network import allow, attribute, function, ref, resource
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws.deployment import selected, unpacked

Client = Callable[[str], Any]


def archive(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name, content in files.items():
            made.writestr(name.replace("__", "."), content)
    return packed.getvalue()


@pytest.fixture
def assets(client: Client) -> Iterator[str]:
    """A bucket such as bootstrap makes, with two assets."""
    bucket = f"assets-{uuid.uuid4().hex[:8]}"
    s3 = client("s3")
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket=bucket, Key="one.zip", Body=archive(on_create__sh=b"#!/bin/bash\n", notes__txt=b"x"))
    s3.put_object(Bucket=bucket, Key="two.zip", Body=archive(deployed__json=b'{"dns": "<<marker>>"}'))
    yield bucket
    for key in ("one.zip", "two.zip"):
        s3.delete_object(Bucket=bucket, Key=key)
    s3.delete_bucket(Bucket=bucket)


def deployment(assets: str, prefix: str, **changes: Any) -> Any:
    properties = {
        "ServiceToken": attribute("Arn", "Function"),
        "SourceBucketNames": [assets, assets],
        "SourceObjectKeys": ["one.zip", "two.zip"],
        "SourceMarkers": [{}, {"<<marker>>": 'a "quoted" name'}],
        "SourceMarkersConfig": [{}, {"jsonEscape": True}],
        "DestinationBucketName": ref("Bucket"),
        "DestinationBucketKeyPrefix": prefix,
        "RetainOnDelete": True,
        "Prune": False,
    }
    return resource("Custom::CDKBucketDeployment", **(properties | changes))


def emptied() -> dict[str, Any]:
    """A bucket that CDK empties before it is deleted, and a function that may do all it has to."""
    tags = [{"Key": "aws-cdk:auto-delete-objects", "Value": "true"}]
    return function(allow("s3:*")) | {
        "Bucket": resource("AWS::S3::Bucket", Tags=tags),
        "Empty": resource(
            "Custom::S3AutoDeleteObjects",
            ServiceToken=attribute("Arn", "Function"),
            BucketName=ref("Bucket"),
        ),
    }


def keys(client: Client, bucket: str) -> list[str]:
    return [item["Key"] for item in client("s3").list_objects_v2(Bucket=bucket).get("Contents", ())]


@pytest.mark.behaviour("HP210")
def test_a_bucket_deployment(stacks: Stacks, client: Client, assets: str) -> None:
    outputs = {"Bucket": ref("Bucket")}
    made = stacks.create(emptied() | {"Upload": deployment(assets, "lifecycle/1/")}, outputs)
    assert made.status == "CREATE_COMPLETE", made.reasons
    bucket = made.outputs["Bucket"]
    one = [f"lifecycle/1/{name}" for name in ("deployed.json", "notes.txt", "on_create.sh")]
    assert keys(client, bucket) == one
    body = client("s3").get_object(Bucket=bucket, Key=one[0])["Body"].read()
    assert json.loads(body) == {"dns": 'a "quoted" name'}

    kept = stacks.update(made.name, emptied() | {"Upload": deployment(assets, "lifecycle/2/")}, outputs)
    assert kept.status == "UPDATE_COMPLETE", kept.reasons
    two = [key.replace("/1/", "/2/") for key in one]
    assert keys(client, bucket) == one + two

    moved = deployment(assets, "lifecycle/3", RetainOnDelete=False, Exclude=["*.txt"])
    stacks.update(made.name, emptied() | {"Upload": moved}, outputs)
    assert keys(client, bucket) == [*one, "lifecycle/3/deployed.json", "lifecycle/3/on_create.sh"]

    client("s3").put_object(Bucket=bucket, Key="lifecycle/3/old.txt", Body=b"")
    pruned = deployment(assets, "lifecycle/3", RetainOnDelete=False, Prune=True)
    stacks.update(made.name, emptied() | {"Upload": pruned}, outputs)
    assert "lifecycle/3/old.txt" not in keys(client, bucket)
    stacks.update(made.name, emptied(), outputs)
    assert keys(client, bucket) == one
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_a_missing_source_fails_the_stack(stacks: Stacks, assets: str) -> None:
    missing = deployment(assets, "x", SourceObjectKeys=["one.zip", "three.zip"])
    made = stacks.create(emptied() | {"Upload": missing})
    assert made.status == "ROLLBACK_COMPLETE"
    assert any(f"source s3://{assets}/three.zip" in reason for reason in made.reasons)


@pytest.mark.behaviour("HP211")
def test_auto_delete_removes_all_versions(stacks: Stacks, client: Client) -> None:
    parts = emptied()
    parts["Bucket"]["Properties"]["VersioningConfiguration"] = {"Status": "Enabled"}
    made = stacks.create(parts, {"Bucket": ref("Bucket")})
    for body in (b"1", b"2"):
        client("s3").put_object(Bucket=made.outputs["Bucket"], Key="k", Body=body)
    client("s3").delete_object(Bucket=made.outputs["Bucket"], Key="k")
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


@pytest.mark.behaviour("HP201")
def test_a_bucket_with_objects_stays(stacks: Stacks, client: Client) -> None:
    parts = emptied()
    del parts["Bucket"]["Properties"]["Tags"]
    made = stacks.create(parts, {"Bucket": ref("Bucket")})
    bucket = made.outputs["Bucket"]
    client("s3").put_object(Bucket=bucket, Key="k", Body=b"")
    failed = stacks.delete(made.name)
    assert failed.status == "DELETE_FAILED"
    assert any("not empty" in reason for reason in failed.reasons)
    client("s3").delete_object(Bucket=bucket, Key="k")
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_an_upload_may_leave_the_key_to_the_bucket(stacks: Stacks, client: Client) -> None:
    default = {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}
    encryption = {"ServerSideEncryptionConfiguration": [default]}
    parts = {"Bucket": resource("AWS::S3::Bucket", BucketEncryption=encryption)}
    made = stacks.create(parts, {"Bucket": ref("Bucket")})
    s3, bucket = client("s3"), made.outputs["Bucket"]
    s3.put_object(Bucket=bucket, Key="asset", Body=b"x", ServerSideEncryption="aws:kms")
    assert s3.head_object(Bucket=bucket, Key="asset")["ServerSideEncryption"] == "aws:kms"
    s3.delete_object(Bucket=bucket, Key="asset")
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_filters_decide_by_the_last_match() -> None:
    files = {"a.txt": b"", "b/c.txt": b"", "d.sh": b""}
    assert list(selected(files, ["*"], ["b/*"])) == ["b/c.txt"]
    assert list(selected(files, ["*.txt"], [])) == ["d.sh"]


def test_markers_outside_json_are_put_in_as_they_are() -> None:
    packed = archive(f__txt=b"x=<<m>>")
    assert unpacked(packed, {"<<m>>": 'say "hi"'}, json_escape=False) == {"f.txt": b'x=say "hi"'}
    assert unpacked(packed, {"<<m>>": ["a"]}, json_escape=True) == {"f.txt": b'x=["a"]'}
