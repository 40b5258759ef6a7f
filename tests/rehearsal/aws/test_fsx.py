"""FSx for Lustre over CloudFormation and its API, and the rules it holds file systems to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import attribute, file_system, ref, resource, vpc
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws.fsx.associations import overlaps
from unbroken.rehearsal.hyperpod.schema import violations

Client = Callable[[str], Any]


def link(path: str = "/data", repository: Any = None) -> Any:
    return resource(
        "AWS::FSx::DataRepositoryAssociation",
        FileSystemId=ref("FileSystem"),
        FileSystemPath=path,
        DataRepositoryPath=repository or {"Fn::Join": ["", ["s3://", ref("Data")]]},
        S3={"AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]}},
    )


def test_file_system_and_link(stacks: Stacks, client: Client) -> None:
    parts = vpc() | {
        "FileSystem": file_system(DataCompressionType="LZ4"),
        "Data": resource("AWS::S3::Bucket"),
    }
    outputs = {
        "Id": ref("FileSystem"),
        "Dns": attribute("DNSName", "FileSystem"),
        "Mount": attribute("LustreMountName", "FileSystem"),
        "Link": attribute("AssociationId", "Link"),
    }
    made = stacks.create(parts | {"Link": link()}, outputs)
    assert made.status == "CREATE_COMPLETE", made.reasons
    identity = made.outputs["Id"]
    assert made.outputs["Dns"] == f"{identity}.fsx.us-west-2.amazonaws.com"
    found = client("fsx").describe_file_systems(FileSystemIds=[identity])["FileSystems"][0]
    assert found["LustreConfiguration"]["MountName"] == made.outputs["Mount"]
    links = client("fsx").describe_data_repository_associations()["Associations"]
    assert [one["AssociationId"] for one in links] == [made.outputs["Link"]]
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    with pytest.raises(ClientError, match="does not exist"):
        client("fsx").describe_file_systems(FileSystemIds=[identity])


@pytest.mark.behaviour("HP207")
def test_a_kept_file_system_keeps_its_subnet(stacks: Stacks, client: Client) -> None:
    kept = file_system() | {"DeletionPolicy": "Retain"}
    made = stacks.create(vpc() | {"FileSystem": kept}, {"Id": ref("FileSystem")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert stacks.delete(made.name).status == "DELETE_FAILED"
    client("fsx").delete_file_system(FileSystemId=made.outputs["Id"])
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def home() -> Any:
    """An OpenZFS file system."""
    return resource(
        "AWS::FSx::FileSystem",
        FileSystemType="OPENZFS",
        StorageCapacity="64",  # as a parameter would give it
        SubnetIds=[ref("Subnet")],
        SecurityGroupIds=[attribute("GroupId", "Group")],
        OpenZFSConfiguration={
            "DeploymentType": "SINGLE_AZ_HA_2",
            "ThroughputCapacity": 160,
            "AutomaticBackupRetentionDays": 0,
            "RootVolumeConfiguration": {"DataCompressionType": "ZSTD"},
        },
    )


@pytest.mark.behaviour("HP219")
def test_openzfs_leaves_a_backup_unless_told_not_to(stacks: Stacks, client: Client) -> None:
    outputs = {"Id": ref("Home"), "Root": attribute("RootVolumeId", "Home")}
    made = stacks.create(vpc() | {"Home": home()}, outputs)
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert made.outputs["Root"].startswith("fsvol-")
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    fsx, of = client("fsx"), {"Name": "file-system-id", "Values": [made.outputs["Id"]]}
    [left] = fsx.describe_backups(Filters=[of])["Backups"]
    assert left["FileSystem"]["FileSystemId"] == made.outputs["Id"]
    fsx.delete_backup(BackupId=left["BackupId"])
    assert fsx.describe_backups()["Backups"] == []

    again = stacks.create(vpc() | {"Home": home()}, outputs)
    with pytest.raises(ClientError, match="LustreConfiguration cannot be applied to delete a OPENZFS"):
        fsx.delete_file_system(
            FileSystemId=again.outputs["Id"], LustreConfiguration={"SkipFinalBackup": True}
        )
    fsx.delete_file_system(FileSystemId=again.outputs["Id"], OpenZFSConfiguration={"SkipFinalBackup": True})
    assert stacks.delete(again.name).status == "DELETE_COMPLETE"
    assert fsx.describe_backups()["Backups"] == []


def test_a_file_system_changes_in_place_or_not_at_all(stacks: Stacks, client: Client) -> None:
    def sized(gib: int, **lustre: Any) -> dict[str, Any]:
        made = file_system(**lustre)
        made["Properties"]["StorageCapacity"] = gib
        return vpc() | {"FileSystem": made}

    made = stacks.create(sized(2400), {"Id": ref("FileSystem")})
    grown = stacks.update(made.name, sized(4800), {"Id": ref("FileSystem")})
    assert (grown.status, grown.outputs) == ("UPDATE_COMPLETE", made.outputs)
    [seen] = client("fsx").describe_file_systems(FileSystemIds=[made.outputs["Id"]])["FileSystems"]
    assert seen["StorageCapacity"] == 4800
    for wrong in (sized(2400), sized(4800, EfaEnabled=True)):
        assert stacks.update(made.name, wrong).status == "UPDATE_ROLLBACK_COMPLETE"
    stacks.delete(made.name)


def test_another_deployment_type_is_another_file_system(stacks: Stacks, client: Client) -> None:
    outputs = {"Id": ref("FileSystem")}
    made = stacks.create(vpc() | {"FileSystem": file_system()}, outputs)
    other = file_system(DeploymentType="PERSISTENT_1", PerUnitStorageThroughput=100)
    changed = stacks.update(made.name, vpc() | {"FileSystem": other}, outputs)
    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    assert any("requires the creation of a new physical resource" in reason for reason in changed.reasons)
    [left] = client("fsx").describe_file_systems()["FileSystems"]
    assert left["FileSystemId"] == changed.outputs["Id"] != made.outputs["Id"]
    assert left["LustreConfiguration"]["DeploymentType"] == "PERSISTENT_1"
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_a_wrong_size_fails_the_stack(stacks: Stacks) -> None:
    made = stacks.create(vpc() | {"FileSystem": file_system(PerUnitStorageThroughput=300)})
    assert made.status == "ROLLBACK_COMPLETE"
    assert any("PerUnitStorageThroughput 300 is invalid" in reason for reason in made.reasons)


@pytest.mark.behaviour("HP208")
def test_a_link_needs_a_bucket_and_a_directory_of_its_own(stacks: Stacks) -> None:
    parts = vpc() | {"FileSystem": file_system(), "Data": resource("AWS::S3::Bucket")}
    nowhere = stacks.create(parts | {"Link": link(repository="s3://no-such-bucket-anywhere")})
    assert any("no-such-bucket-anywhere does not exist" in reason for reason in nowhere.reasons)
    second = link("/data/more") | {"DependsOn": "Link"}
    nested = stacks.create(parts | {"Link": link(), "Second": second})
    assert any("overlaps" in reason for reason in nested.reasons)
    assert (nowhere.status, nested.status) == ("ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE")
    assert overlaps("/a", "/a/b") and not overlaps("/a", "/ab")


def test_answers_have_the_shape_of_the_api(stacks: Stacks, client: Client) -> None:
    parts = vpc() | {"FileSystem": file_system(), "Data": resource("AWS::S3::Bucket"), "Link": link()}
    made = stacks.create(parts | {"Home": home()})
    assert made.status == "CREATE_COMPLETE", made.reasons
    for operation, call in (
        ("DescribeFileSystems", client("fsx").describe_file_systems),
        ("DescribeDataRepositoryAssociations", client("fsx").describe_data_repository_associations),
        ("DescribeBackups", client("fsx").describe_backups),
    ):
        answer = call()
        answer.pop("ResponseMetadata")
        shape = client("fsx").meta.service_model.operation_model(operation).output_shape
        assert list(violations(shape, answer)) == []
    stacks.delete(made.name)


def test_an_operation_that_is_not_emulated_says_so(client: Client) -> None:
    with pytest.raises(ClientError, match="DescribeVolumes of FSx is not part of the embedded AWS"):
        client("fsx").describe_volumes()
    with pytest.raises(ClientError, match="the filter lifecycle is not part of the embedded AWS"):
        client("fsx").describe_backups(Filters=[{"Name": "lifecycle", "Values": ["AVAILABLE"]}])
