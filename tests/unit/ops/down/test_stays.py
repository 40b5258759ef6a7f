"""What stays is told with commands that work, in an order that works."""

from __future__ import annotations

import re

import jmespath  # type: ignore[import-untyped]

from unbroken.aws.cloudformation import Stack, StackResource
from unbroken.ops.down.parts import ORDER, Part, _place
from unbroken.ops.down.stays import stay, stays

KEPT = {"DeletionPolicy": "RetainExceptOnCreate"}


def part(*types: str) -> Part:
    resources = tuple(
        StackResource(f"R{index}", f"id-{index}", type_name, "CREATE_COMPLETE", "")
        for index, type_name in enumerate(types)
    )
    return Part(
        Stack("ml-x", "CREATE_COMPLETE", "", {}),
        resources,
        {"Resources": {resource.logical_id: KEPT for resource in resources}},
    )


def test_what_has_an_interface_goes_before_the_network() -> None:
    network = part("AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup")
    storage = part("AWS::FSx::FileSystem", "AWS::S3::BucketPolicy", "AWS::FSx::DataRepositoryAssociation")
    kinds = [one.kind for one in stays([network, storage], "us-west-2")]
    assert kinds == ["file system", "security group", "subnet", "VPC"]


def test_a_type_without_a_command_is_told_all_the_same() -> None:
    [one] = stays([part("AWS::New::Thing")], "us-west-2")
    assert (one.kind, one.identity, one.remove) == ("AWS::New::Thing", "id-0", ())


def test_every_command_names_the_region_once() -> None:
    for type_name in ("AWS::FSx::FileSystem", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::APS::Workspace"):
        for line in stay(type_name, "arn:aws:aps:r:a:workspace/ws-1", "us-west-2", "").remove:
            assert line.startswith("aws ") and line.count("--region us-west-2") == 1, line


def test_the_query_that_empties_a_bucket_finds_versions_and_markers() -> None:
    query = re.search(r"--query '([^']+)'", stay("AWS::S3::Bucket", "b", "us-west-2", "").remove[0])
    assert query is not None
    version, marker = {"Key": "a", "VersionId": "1", "Size": 1}, {"Key": "b", "VersionId": "2", "Owner": {}}
    wanted = [{"Key": "a", "VersionId": "1"}, {"Key": "b", "VersionId": "2"}]
    found = jmespath.search(query.group(1), {"Versions": [version], "DeleteMarkers": [marker]})
    assert found == {"Objects": wanted}
    assert jmespath.search(query.group(1), {"Versions": [version]}) == {"Objects": wanted[:1]}


def test_the_cluster_goes_first_and_the_network_last() -> None:
    assert (ORDER[0], *ORDER[-2:]) == ("cluster", "network", "encryption")
    assert _place("interfaces-of-tomorrow") < _place("network")
    assert _place("interfaces-of-tomorrow") > _place("storage")
