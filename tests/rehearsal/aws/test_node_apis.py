"""The AWS APIs as a node reaches them, held to its execution role."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import allow, attribute, ref, resource, role
from tests.rehearsal.aws.node_side import NodeSide, ask
from tests.rehearsal.aws.support import Stacks
from tests.rehearsal.aws.test_small_services import key
from unbroken.rehearsal.aws.gateway.http import Answer
from unbroken.rehearsal.composition import Rehearsal

Client = Callable[[str], Any]


@pytest.fixture
def bucket(client: Client) -> Iterator[str]:
    """A bucket of a name the managed policy grants, with one object."""
    name = f"sagemaker-{uuid.uuid4().hex[:8]}"
    client("s3").create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    client("s3").put_object(Bucket=name, Key="lifecycle/x", Body=b"content")
    yield name
    client("s3").delete_object(Bucket=name, Key="lifecycle/x")
    client("s3").delete_bucket(Bucket=name)


@pytest.mark.behaviour("HP215")
def test_a_node_acts_with_its_role(
    rehearsal: Rehearsal, stacks: Stacks, serve: Callable[[Answer], int], bucket: str
) -> None:
    made = stacks.create({"Role": role(managed=True)}, {"Name": ref("Role")})
    node = NodeSide(rehearsal, serve, made.outputs["Name"])
    assert (node.credentials["Code"], node.credentials["Type"]) == ("Success", "AWS-HMAC")
    caller = node.client("sts").get_caller_identity()
    assert caller["Arn"].endswith(f"assumed-role/{made.outputs['Name']}/{node.spec.instance_id}")
    s3 = node.client("s3")
    assert s3.get_object(Bucket=bucket, Key="lifecycle/x")["Body"].read() == b"content"
    assert s3.head_object(Bucket=bucket, Key="lifecycle/x")["ContentLength"] == len(b"content")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1
    stacks.delete(made.name)


@pytest.mark.behaviour("HP216")
def test_a_node_may_do_what_its_role_may_and_no_more(
    rehearsal: Rehearsal, stacks: Stacks, client: Client, serve: Callable[[Answer], int], bucket: str
) -> None:
    read = {"Effect": "Allow", "Action": "s3:*", "Resource": f"arn:aws:s3:::{bucket}/*"}
    made = stacks.create({"Role": role(read)}, {"Role": ref("Role")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    node = NodeSide(rehearsal, serve, made.outputs["Role"])
    s3 = node.client("s3")
    s3.put_object(Bucket=bucket, Key="lifecycle/x", Body=b"content")
    with pytest.raises(ClientError) as denied:
        s3.list_objects_v2(Bucket=bucket)
    said = denied.value.response["Error"]
    assert said["Code"] == "AccessDenied"
    for part in (
        node.spec.instance_id,
        "s3:ListBucket",
        f"arn:aws:s3:::{bucket}",
        "no identity-based policy allows",
    ):
        assert part in said["Message"]
    with pytest.raises(ClientError, match="not authorized"):
        node.client("ec2").describe_vpcs()
    bucket_policy(client, bucket, {"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject"})
    with pytest.raises(ClientError, match="explicit deny"):
        s3.get_object(Bucket=bucket, Key="lifecycle/x")
    stacks.delete(made.name)


def test_an_encrypted_object_needs_its_key_too(
    rehearsal: Rehearsal, stacks: Stacks, client: Client, serve: Callable[[Answer], int]
) -> None:
    name = f"sagemaker-{uuid.uuid4().hex[:8]}"
    default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": ref("Key")}
    rules = {"ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": default}]}
    through_s3 = {"kms:ViaService": "s3.us-west-2.amazonaws.com"}
    opens = allow("kms:Decrypt", attribute("Arn", "Key"), StringEquals=through_s3)
    parts = {
        "Key": key(),
        "Bucket": resource("AWS::S3::Bucket", BucketName=name, BucketEncryption=rules),
        "Reader": role(allow("s3:GetObject"), opens),
        "Stranger": role(allow("s3:*")),
    }
    made = stacks.create(parts, {"Reader": ref("Reader"), "Stranger": ref("Stranger")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    client("s3").put_object(Bucket=name, Key="k", Body=b"content")
    reader = NodeSide(rehearsal, serve, made.outputs["Reader"]).client("s3")
    assert reader.get_object(Bucket=name, Key="k")["Body"].read() == b"content"
    stranger = NodeSide(rehearsal, serve, made.outputs["Stranger"]).client("s3")
    with pytest.raises(ClientError, match="kms:Decrypt on resource: arn:aws:kms:"):
        stranger.get_object(Bucket=name, Key="k")
    with pytest.raises(ClientError, match="kms:GenerateDataKey on resource: arn:aws:kms:"):
        stranger.put_object(Bucket=name, Key="k", Body=b"")
    client("s3").delete_object(Bucket=name, Key="k")
    stacks.delete(made.name)


def test_a_policy_that_asks_for_tls_does_not_shut_nodes_out(
    rehearsal: Rehearsal, stacks: Stacks, client: Client, serve: Callable[[Answer], int], bucket: str
) -> None:
    made = stacks.create({"Role": role(managed=True)}, {"Name": ref("Role")})
    insecure = {"Bool": {"aws:SecureTransport": "false"}}
    bucket_policy(
        client, bucket, {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Condition": insecure}
    )
    s3 = NodeSide(rehearsal, serve, made.outputs["Name"]).client("s3")
    assert s3.get_object(Bucket=bucket, Key="lifecycle/x")["Body"].read() == b"content"
    stacks.delete(made.name)


@pytest.mark.behaviour("HP217")
def test_a_key_that_is_no_nodes_is_refused(
    rehearsal: Rehearsal, stacks: Stacks, serve: Callable[[Answer], int]
) -> None:
    made = stacks.create({"Role": role(managed=True)}, {"Name": ref("Role")})
    node = NodeSide(rehearsal, serve, made.outputs["Name"])
    for changes in ({"AccessKeyId": "ASIANOBODY0000000000"}, {"Token": "another"}):
        with pytest.raises(ClientError) as refused:
            node.client("sts", **changes).get_caller_identity()
        assert refused.value.response["Error"]["Code"] == "InvalidClientTokenId"
    assert ask(node.gateway, "GET", "/any-bucket")[0] == 403
    stacks.delete(made.name)


def test_calls_of_services_of_ours_have_actions_too(
    rehearsal: Rehearsal, stacks: Stacks, serve: Callable[[Answer], int]
) -> None:
    statement = {"Effect": "Allow", "Action": "fsx:DescribeFileSystems", "Resource": "*"}
    made = stacks.create({"Role": role(statement)}, {"Name": ref("Role")})
    node = NodeSide(rehearsal, serve, made.outputs["Name"])
    assert node.client("fsx").describe_file_systems()["FileSystems"] == []
    with pytest.raises(ClientError, match="sagemaker:ListClusters"):
        node.client("sagemaker").list_clusters()
    stacks.delete(made.name)


def test_a_permissions_boundary_limits_a_node(
    rehearsal: Rehearsal, stacks: Stacks, serve: Callable[[Answer], int], bucket: str
) -> None:
    read = {"Effect": "Allow", "Action": "s3:*", "Resource": f"arn:aws:s3:::{bucket}/*"}
    gets = {"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}
    limit = resource("AWS::IAM::ManagedPolicy", PolicyDocument={"Version": "2012-10-17", "Statement": [gets]})
    limited = role(read)
    limited["Properties"]["PermissionsBoundary"] = ref("Limit")
    made = stacks.create({"Limit": limit, "Role": limited}, {"Name": ref("Role")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    s3 = NodeSide(rehearsal, serve, made.outputs["Name"]).client("s3")
    assert s3.get_object(Bucket=bucket, Key="lifecycle/x")["Body"].read() == b"content"
    with pytest.raises(ClientError, match="s3:PutObject"):
        s3.put_object(Bucket=bucket, Key="lifecycle/x", Body=b"")
    stacks.delete(made.name)


def bucket_policy(client: Client, bucket: str, statement: dict[str, Any]) -> None:
    """Give the bucket a policy of one statement about its objects."""
    document = {"Version": "2012-10-17", "Statement": [statement | {"Resource": f"arn:aws:s3:::{bucket}/*"}]}
    client("s3").put_bucket_policy(Bucket=bucket, Policy=json.dumps(document))
