"""The storage template: the shared file system, the folders that mirror buckets, both buckets, their end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stacks.buckets import lifecycle_bucket_name
from tests.synth.api_model import complaints
from tests.synth.build import Synth, synth
from unbroken.catalog.regions import REGIONS
from unbroken.config import ClusterConfig, StorageConfig

ACCOUNT = "111122223333"
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
LINK = "AWS::FSx::DataRepositoryAssociation"
STAYS = ("RetainExceptOnCreate", "Retain")
"""Kept, unless the very creation of its stack fails; a replacement never deletes it."""
GOES = ("Delete", "Delete")


def cluster(**values: Any) -> ClusterConfig:
    worker = {"name": "w", "instance_type": "ml.m5.xlarge", "num_instances": 1}
    return ClusterConfig.model_validate({"name": "ml", "worker_groups": [worker]} | values)


def lustre(synth: Synth) -> dict[str, Any]:
    [found] = [
        body
        for body in synth.resources("storage", "AWS::FSx::FileSystem").values()
        if body["Properties"]["FileSystemType"] == "LUSTRE"
    ]
    return found


def policies(body: dict[str, Any]) -> tuple[str, str]:
    return body["DeletionPolicy"], body["UpdateReplacePolicy"]


def data_bucket(synth: Synth) -> tuple[str, dict[str, Any]]:
    [found] = [
        (name, body)
        for name, body in synth.resources("storage", "AWS::S3::Bucket").items()
        if "BucketName" not in body["Properties"]
    ]
    return found


def test_the_file_system_is_the_cluster_files(mathstral: Synth) -> None:
    properties = lustre(mathstral)["Properties"]
    assert properties["FileSystemTypeVersion"] == "2.15"
    assert (properties["StorageCapacity"], properties["StorageType"]) == (1200, "SSD")
    assert properties["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 250,
        "DataCompressionType": "LZ4",
    }
    assert "KmsKeyId" not in properties


KINDS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (
        {"deployment_type": "SCRATCH_2", "capacity_gib": 2400},
        {"StorageType": "SSD", "StorageCapacity": 2400},
        {"DeploymentType": "SCRATCH_2", "DataCompressionType": "LZ4"},
    ),
    (
        {"deployment_type": "SCRATCH_1", "capacity_gib": 3600, "lustre_version": "2.12"},
        {"StorageCapacity": 3600, "FileSystemTypeVersion": "2.12"},
        {"DeploymentType": "SCRATCH_1", "DataCompressionType": "LZ4"},
    ),
    (
        {"deployment_type": "PERSISTENT_1", "storage_type": "HDD", "drive_cache": "READ"},
        {"StorageType": "HDD", "StorageCapacity": 6000},
        {
            "DeploymentType": "PERSISTENT_1",
            "DriveCacheType": "READ",
            "PerUnitStorageThroughput": 12,
            "DataCompressionType": "LZ4",
        },
    ),
    (
        {"storage_type": "INTELLIGENT_TIERING", "compression": "NONE"},
        {"StorageType": "INTELLIGENT_TIERING"},
        {
            "DeploymentType": "PERSISTENT_2",
            "ThroughputCapacity": 4000,
            "DataReadCacheConfiguration": {"SizingMode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"},
            "MetadataConfiguration": {"Mode": "USER_PROVISIONED", "Iops": 6000},
            "DataCompressionType": "NONE",
        },
    ),
    (
        {"backup_days": 7, "data_repositories": []},
        {"StorageCapacity": 1200},
        {
            "DeploymentType": "PERSISTENT_2",
            "PerUnitStorageThroughput": 250,
            "DataCompressionType": "LZ4",
            "AutomaticBackupRetentionDays": 7,
            "CopyTagsToBackups": True,
        },
    ),
]


@pytest.mark.parametrize(("storage", "outside", "inside"), KINDS, ids=lambda value: str(value)[:40])
def test_every_deployment_type(
    storage: dict[str, Any], outside: dict[str, Any], inside: dict[str, Any], tmp_path: Path
) -> None:
    persistent = inside["DeploymentType"].startswith("PERSISTENT")  # scratch has a key of FSx's own
    made = synth(cluster(storage=storage, encryption={"kms_key": KEY if persistent else "aws"}), tmp_path)
    properties = lustre(made)["Properties"]
    assert {key: properties[key] for key in outside} == outside
    assert properties["LustreConfiguration"] == inside
    assert ("StorageCapacity" in properties) is (storage.get("storage_type") != "INTELLIGENT_TIERING")
    assert properties.get("KmsKeyId") == (KEY if persistent else None)


def test_efa_and_metadata_that_is_bought(everything: Synth) -> None:
    configuration = lustre(everything)["Properties"]["LustreConfiguration"]
    assert configuration["EfaEnabled"] is True
    assert configuration["MetadataConfiguration"] == {"Mode": "USER_PROVISIONED", "Iops": 12000}
    assert "Key" in str(lustre(everything)["Properties"]["KmsKeyId"])


def test_every_property_exists_in_the_api(example: Synth) -> None:
    for body in example.resources("storage", "AWS::FSx::FileSystem").values():
        properties = body["Properties"]
        properties.get("OpenZFSConfiguration", {}).pop("Options", None)  # those are DeleteFileSystem's
        assert complaints("fsx", "CreateFileSystem", properties) == ""


def test_one_that_does_not_is_found(mathstral: Synth) -> None:
    properties = lustre(mathstral)["Properties"]
    properties["LustreConfiguration"]["PerUnitThroughput"] = 250
    assert "PerUnitThroughput" in complaints("fsx", "CreateFileSystem", properties)


def test_the_hour_of_maintenance_is_the_services(examples: dict[str, Synth]) -> None:
    assert "WeeklyMaintenance" not in str([made.template("storage") for made in examples.values()])


def test_it_stands_in_the_nodes_subnet_and_groups(mathstral: Synth) -> None:
    file_system = lustre(mathstral)["Properties"]
    network = mathstral.one("cluster", "AWS::SageMaker::Cluster")["Properties"]["VpcConfig"]
    assert file_system["SubnetIds"] == network["Subnets"]
    assert file_system["SecurityGroupIds"] == network["SecurityGroupIds"]


def test_the_link_carries_changes_both_ways(mathstral: Synth) -> None:
    link = mathstral.one("storage", LINK)
    name, _ = data_bucket(mathstral)
    events = {"Events": ["NEW", "CHANGED", "DELETED"]}
    assert link["Properties"]["S3"] == {"AutoImportPolicy": events, "AutoExportPolicy": events}
    assert link["Properties"]["FileSystemPath"] == "/data"
    assert link["Properties"]["DataRepositoryPath"] == {"Fn::Join": ["", ["s3://", {"Ref": name}]]}


def links(synth: Synth) -> dict[str, dict[str, Any]]:
    """Properties of the associations, by the folder."""
    return {
        body["Properties"]["FileSystemPath"]: body["Properties"]
        for body in synth.resources("storage", LINK).values()
    }


def test_several_folders_mirror_several_buckets(everything: Synth) -> None:
    found = links(everything)
    assert set(found) == {"/data", "/models", "/results"}
    assert found["/models"]["DataRepositoryPath"] == "s3://models-of-the-platform-team/released/mathstral"
    assert set(found["/models"]["S3"]) == {"AutoImportPolicy"}  # read only: nothing is exported
    assert set(found["/results"]["S3"]) == {"AutoExportPolicy"}


def test_a_folder_without_events_is_imported_once(tmp_path: Path) -> None:
    quiet = {"path": "/data", "import_events": [], "export_events": []}
    made = synth(cluster(storage={"data_repositories": [quiet]}), tmp_path)
    assert "S3" not in links(made)["/data"]
    assert links(made)["/data"]["BatchImportMetaDataOnCreate"] is True


def test_the_order_of_folders_in_the_file_changes_nothing(tmp_path: Path) -> None:
    folders = [{"path": path, "bucket": "elsewhere"} for path in ("/a-b", "/ab", "/a_b", "/c")]
    folders = [folder | {"prefix": str(n)} for n, folder in enumerate(folders)]
    made = []
    for turn in range(2):
        made.append(synth(cluster(storage={"data_repositories": folders}), tmp_path / str(turn)))
        folders.reverse()
    assert made[0].template("storage") == made[1].template("storage")
    assert len(links(made[0])) == 4  # paths that differ in punctuation have ids of their own


def test_without_a_folder_for_it_there_is_no_data_bucket(tmp_path: Path) -> None:
    made = synth(cluster(storage={"data_repositories": [{"bucket": "elsewhere"}]}), tmp_path)
    assert len(made.resources("storage", "AWS::S3::Bucket")) == 1
    assert "DataBucketName" not in made.template("storage")["Outputs"]


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        ("mathstral", {"AWS::S3::Bucket", "AWS::S3::BucketPolicy"}),
        # What a destroy undoes in the opposite order: exports would fill a bucket that is being emptied.
        ("largest", {"AWS::S3::Bucket", "AWS::S3::BucketPolicy", "Custom::S3AutoDeleteObjects"}),
    ],
)
def test_the_link_comes_after_all_of_its_bucket(
    kind: str, before: set[str], request: pytest.FixtureRequest
) -> None:
    synth: Synth = request.getfixturevalue(kind)
    resources = synth.template("storage")["Resources"]
    needed = synth.one("storage", LINK)["DependsOn"]
    assert {resources[name]["Type"] for name in needed} == before
    assert not [name for name in needed if "Lifecycle" in name]


@pytest.mark.parametrize("kind", ["mathstral", "largest", "everything"])
def test_buckets_are_private_encrypted_and_over_tls_only(kind: str, request: pytest.FixtureRequest) -> None:
    synth: Synth = request.getfixturevalue(kind)
    statements = {
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
            each["Effect"] == "Deny" and each.get("Condition") == plain_http for each in statements[name]
        )


def encryption(synth: Synth) -> list[str]:
    return [
        body["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"][0][
            "ServerSideEncryptionByDefault"
        ]["SSEAlgorithm"]
        for body in synth.resources("storage", "AWS::S3::Bucket").values()
    ]


def test_the_clusters_key_is_also_the_buckets(mathstral: Synth, everything: Synth) -> None:
    assert encryption(mathstral) == ["AES256", "AES256"]
    assert encryption(everything) == ["aws:kms", "aws:kms"]
    assert "KmsKeyArn" in everything.template("storage")["Outputs"]


def test_data_is_versioned_and_old_versions_do_not_stay_for_ever(mathstral: Synth) -> None:
    _, body = data_bucket(mathstral)
    assert body["Properties"]["VersioningConfiguration"] == {"Status": "Enabled"}
    [rule] = body["Properties"]["LifecycleConfiguration"]["Rules"]
    assert rule["NoncurrentVersionExpiration"] and rule["AbortIncompleteMultipartUpload"]


@pytest.mark.parametrize(("kind", "wanted"), [("mathstral", STAYS), ("largest", GOES)])
def test_data_goes_only_if_the_cluster_file_says_so(
    kind: str, wanted: tuple[str, str], request: pytest.FixtureRequest
) -> None:
    synth: Synth = request.getfixturevalue(kind)
    _, bucket = data_bucket(synth)
    kept = [bucket, lustre(synth), synth.one("storage", LINK)]
    assert {policies(body) for body in kept} == {wanted}


def test_a_bucket_that_is_kept_keeps_its_policy(mathstral: Synth) -> None:
    name, _ = data_bucket(mathstral)
    [policy] = [
        body
        for body in mathstral.resources("storage", "AWS::S3::BucketPolicy").values()
        if body["Properties"]["Bucket"] == {"Ref": name}
    ]
    assert policies(policy) == STAYS


@pytest.mark.parametrize("kind", ["mathstral", "largest"])
def test_exactly_the_buckets_that_go_are_emptied(kind: str, request: pytest.FixtureRequest) -> None:
    synth: Synth = request.getfixturevalue(kind)
    emptied = {
        body["Properties"]["BucketName"]["Ref"]
        for body in synth.resources("storage", "Custom::S3AutoDeleteObjects").values()
    }
    buckets = synth.resources("storage", "AWS::S3::Bucket").items()
    assert emptied == {name for name, body in buckets if body["DeletionPolicy"] == "Delete"}


def test_what_is_brought_along_is_not_made_but_told(brought: Synth) -> None:
    template = brought.template("storage")
    assert {body["Type"] for body in template["Resources"].values()} == {
        "AWS::CloudFormation::WaitConditionHandle"  # which makes nothing; a stack cannot be empty
    }
    assert {name: output["Value"] for name, output in template["Outputs"].items()} == {
        "FileSystemId": "fs-0123456789abcdef0",
        "FileSystemDnsName": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        "FileSystemMountName": "abcdef01",
        "LifecycleBucketName": "sagemaker-lifecycle-of-the-platform-team",
    }


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
    return ClusterConfig.model_construct(name=name, region=region, storage=StorageConfig())
