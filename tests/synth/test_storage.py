"""The storage template: file system, its link, both buckets, and what a destroy does with them."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.buckets import lifecycle_bucket_name
from tests.synth.build import Synth
from unbroken.catalog import regions
from unbroken.catalog.regions import REGIONS
from unbroken.config import ClusterConfig, NetworkConfig, WorkerGroup

ACCOUNT = "111122223333"


def data_bucket(synth: Synth) -> tuple[str, dict[str, Any]]:
    [found] = [
        (name, body)
        for name, body in synth.resources("storage", "AWS::S3::Bucket").items()
        if "BucketName" not in body["Properties"]
    ]
    return found


def test_the_file_system_is_the_cluster_files(mathstral: Synth) -> None:
    properties = mathstral.one("storage", "AWS::FSx::FileSystem")["Properties"]
    assert properties["FileSystemType"] == "LUSTRE"
    assert properties["FileSystemTypeVersion"] == "2.15"
    assert (properties["StorageCapacity"], properties["StorageType"]) == (1200, "SSD")
    assert properties["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
        "DataCompressionType": "LZ4",
    }


def test_it_stands_in_the_nodes_subnet_and_group(mathstral: Synth) -> None:
    file_system = mathstral.one("storage", "AWS::FSx::FileSystem")["Properties"]
    cluster = mathstral.one("cluster", "AWS::SageMaker::Cluster")["Properties"]["VpcConfig"]
    assert file_system["SubnetIds"] == cluster["Subnets"]
    assert file_system["SecurityGroupIds"] == cluster["SecurityGroupIds"]


def test_the_link_carries_changes_both_ways(mathstral: Synth) -> None:
    link = mathstral.one("storage", "AWS::FSx::DataRepositoryAssociation")
    name, _ = data_bucket(mathstral)
    events = {"Events": ["NEW", "CHANGED", "DELETED"]}
    assert link["Properties"]["S3"] == {"AutoImportPolicy": events, "AutoExportPolicy": events}
    assert link["Properties"]["FileSystemPath"] == "/data"
    assert link["Properties"]["DataRepositoryPath"] == {"Fn::Join": ["", ["s3://", {"Ref": name}]]}


@pytest.mark.parametrize(
    ("shape", "before"),
    [
        ("mathstral", {"AWS::S3::Bucket", "AWS::S3::BucketPolicy"}),
        # What a destroy undoes in the opposite order: exports would fill a bucket that is being emptied.
        ("largest", {"AWS::S3::Bucket", "AWS::S3::BucketPolicy", "Custom::S3AutoDeleteObjects"}),
    ],
)
def test_the_link_comes_after_all_of_its_bucket(
    shape: str, before: set[str], request: pytest.FixtureRequest
) -> None:
    synth: Synth = request.getfixturevalue(shape)
    resources = synth.template("storage")["Resources"]
    needed = synth.one("storage", "AWS::FSx::DataRepositoryAssociation")["DependsOn"]
    assert {resources[name]["Type"] for name in needed} == before
    assert not [name for name in needed if "Lifecycle" in name]


@pytest.mark.parametrize("shape", ["mathstral", "largest"])
def test_buckets_are_private_encrypted_and_over_tls_only(shape: str, request: pytest.FixtureRequest) -> None:
    synth: Synth = request.getfixturevalue(shape)
    policies = {
        body["Properties"]["Bucket"]["Ref"]: body["Properties"]["PolicyDocument"]["Statement"]
        for body in synth.resources("storage", "AWS::S3::BucketPolicy").values()
    }
    buckets = synth.resources("storage", "AWS::S3::Bucket")
    assert len(buckets) == 2
    for name, body in buckets.items():
        properties = body["Properties"]
        assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
        assert len(properties["PublicAccessBlockConfiguration"]) == 4
        assert properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        plain_http = {"Bool": {"aws:SecureTransport": "false"}}
        assert any(
            each["Effect"] == "Deny" and each.get("Condition") == plain_http for each in policies[name]
        )


def test_data_is_versioned_and_old_versions_do_not_stay_for_ever(mathstral: Synth) -> None:
    _, body = data_bucket(mathstral)
    assert body["Properties"]["VersioningConfiguration"] == {"Status": "Enabled"}
    [rule] = body["Properties"]["LifecycleConfiguration"]["Rules"]
    assert rule["NoncurrentVersionExpiration"] and rule["AbortIncompleteMultipartUpload"]


@pytest.mark.parametrize(("shape", "policy"), [("mathstral", "Retain"), ("largest", "Delete")])
def test_data_goes_only_if_the_cluster_file_says_so(
    shape: str, policy: str, request: pytest.FixtureRequest
) -> None:
    synth: Synth = request.getfixturevalue(shape)
    _, bucket = data_bucket(synth)
    kept = [
        bucket,
        synth.one("storage", "AWS::FSx::FileSystem"),
        synth.one("storage", "AWS::FSx::DataRepositoryAssociation"),
    ]
    assert {body["DeletionPolicy"] for body in kept} == {policy}
    assert {body["UpdateReplacePolicy"] for body in kept} == {policy}


def test_a_bucket_that_is_kept_keeps_its_policy(mathstral: Synth) -> None:
    name, _ = data_bucket(mathstral)
    [policy] = [
        body
        for body in mathstral.resources("storage", "AWS::S3::BucketPolicy").values()
        if body["Properties"]["Bucket"] == {"Ref": name}
    ]
    assert policy["DeletionPolicy"] == "Retain"


@pytest.mark.parametrize("shape", ["mathstral", "largest"])
def test_exactly_the_buckets_that_go_are_emptied(shape: str, request: pytest.FixtureRequest) -> None:
    synth: Synth = request.getfixturevalue(shape)
    emptied = {
        body["Properties"]["BucketName"]["Ref"]
        for body in synth.resources("storage", "Custom::S3AutoDeleteObjects").values()
    }
    buckets = synth.resources("storage", "AWS::S3::Bucket").items()
    assert emptied == {name for name, body in buckets if body["DeletionPolicy"] == "Delete"}


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("name", ["a", "ml-cluster", "Foo-" + "x" * 59, "A" * 15 + "-" + "b" * 47])
def test_the_lifecycle_buckets_name_is_legal(region: str, name: str) -> None:
    bucket = lifecycle_bucket_name(_cluster(name, region), ACCOUNT)
    assert bucket.startswith("sagemaker-")
    assert len(bucket) <= 63
    assert bucket == bucket.lower()
    assert "--" not in bucket


def test_clusters_whose_names_differ_late_have_buckets_of_their_own() -> None:
    names = ["a" * 40, "a" * 41, "A" * 40]
    assert len({lifecycle_bucket_name(_cluster(name, "us-west-2"), ACCOUNT) for name in names}) == 3


def _cluster(name: str, region: str) -> ClusterConfig:
    worker = WorkerGroup(name="w", instance_type="ml.m5.xlarge", num_instances=1)
    zone = NetworkConfig(availability_zone_id=f"{regions.zone_id_prefix(region)}-az1")
    return ClusterConfig(name=name, region=region, network=zone, worker_groups=[worker])
