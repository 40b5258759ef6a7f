"""HyperPod clusters over CloudFormation and over the SageMaker API, on paper machines."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import NODES, allow, attribute, ref, resource, role, self_rules, vpc, way_out
from tests.rehearsal.aws.support import Stacks
from unbroken.aws import Aws, AwsError, Patience, Session, connect
from unbroken.aws.facade import over
from unbroken.aws.session import with_keys
from unbroken.ops.rehearse.cluster import wait_for
from unbroken.rehearsal.aws.inventory import Item, inventory, leftovers
from unbroken.rehearsal.composition import Rehearsal
from unbroken.rehearsal.hyperpod.schema import check_answer

Client = Callable[[str], Any]

LIST_ONLY = (*NODES[:2], allow("s3:ListBucket"))


@pytest.fixture
def bundle(client: Client) -> Iterator[str]:
    """The URI of a small lifecycle bundle whose checksums hold."""
    bucket = f"bundle-{uuid.uuid4().hex[:8]}"
    script = b"#!/bin/bash\n"
    parameters = {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": "head",
        "worker_groups": [],
    }
    files = {
        "on_create.sh": script,
        "SHA256SUMS": f"{hashlib.sha256(script).hexdigest()}  on_create.sh\n".encode(),
        "provisioning_parameters.json": json.dumps(parameters).encode(),
    }
    s3 = client("s3")
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    for name, content in files.items():
        s3.put_object(Bucket=bucket, Key=f"b/{name}", Body=content)
    yield f"s3://{bucket}/b/"
    for name in files:
        s3.delete_object(Bucket=bucket, Key=f"b/{name}")
    s3.delete_bucket(Bucket=bucket)


def parts(bundle: str, name: str, num_workers: int = 1, statements: Any = NODES) -> dict[str, Any]:
    def group(of: str, kind: str, count: int) -> dict[str, Any]:
        return {
            "InstanceGroupName": of,
            "InstanceType": kind,
            "InstanceCount": count,
            "ExecutionRole": attribute("Arn", "Role"),
            "LifeCycleConfig": {"SourceS3Uri": bundle, "OnCreate": "on_create.sh"},
        }

    cluster = resource(
        "AWS::SageMaker::Cluster",
        ClusterName=name,
        InstanceGroups=[group("head", "ml.m5.xlarge", 1), group("work", "ml.m5.xlarge", num_workers)],
        VpcConfig={"Subnets": [ref("Subnet")], "SecurityGroupIds": [attribute("GroupId", "Group")]},
    )
    cluster["DependsOn"] = ["In", "Out", "RoutesOfSubnet", "WayOut"]
    return vpc() | self_rules() | way_out() | {"Role": role(*statements), "Cluster": cluster}


def _seen(aws: Aws, name: str, statuses: list[str]) -> None:
    """The service's answers lag behind what happens, as they do on AWS."""
    wait_for(
        f"nodes {statuses}",
        lambda: [node.status for node in aws.sagemaker.nodes(name)] == statuses,
        10,
        poll=0.02,
    )


@pytest.mark.behaviour("HP213")
def test_a_cluster_comes_grows_and_goes(
    rehearsal: Rehearsal, stacks: Stacks, client: Client, bundle: str
) -> None:
    before = inventory(rehearsal.aws.port, "us-west-2")
    made = stacks.create(parts(bundle, "grows"), {"Arn": attribute("ClusterArn", "Cluster")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    aws = _aws(rehearsal.aws.port)
    _seen(aws, "grows", ["Running"] * 2)

    grown = stacks.update(made.name, parts(bundle, "grows", num_workers=2))
    assert grown.status == "UPDATE_COMPLETE", grown.reasons
    _seen(aws, "grows", ["Running"] * 3)
    cluster = aws.sagemaker.cluster("grows")
    assert cluster is not None
    assert (cluster.status, cluster.arn) == ("InService", made.outputs["Arn"])
    assert {group.name: group.current for group in cluster.groups} == {"head": 1, "work": 2}
    assert len({node.instance_id for node in aws.sagemaker.nodes("grows")}) == 3

    answer = client("sagemaker").describe_cluster(ClusterName="grows")
    answer.pop("ResponseMetadata")
    assert check_answer("DescribeCluster", answer) == []
    assert Item("HyperPod cluster", "grows") in inventory(rehearsal.aws.port, "us-west-2").items
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    assert aws.sagemaker.cluster("grows") is None and aws.sagemaker.nodes("grows") == []
    left = leftovers(before, inventory(rehearsal.aws.port, "us-west-2"))
    assert left.unexpected == []


@pytest.mark.behaviour("HP218")
def test_the_log_group_outlives_the_cluster_and_counts_as_kept(
    rehearsal: Rehearsal, stacks: Stacks, bundle: str
) -> None:
    before = inventory(rehearsal.aws.port, "us-west-2")
    made = stacks.create(parts(bundle, "logged"))
    stacks.delete(made.name)
    left = leftovers(before, inventory(rehearsal.aws.port, "us-west-2"))
    assert [item.kind for item in left.retained] == ["log group"]
    assert left.retained[0].identifier.startswith("/aws/sagemaker/Clusters/logged/")


@pytest.mark.behaviour("HP212")
def test_a_role_that_may_not_read_the_bundle_fails_the_stack(
    stacks: Stacks, client: Client, bundle: str
) -> None:
    made = stacks.create(parts(bundle, "denied", statements=LIST_ONLY))
    assert made.status == "ROLLBACK_COMPLETE"
    assert any("Lifecycle scripts did not run successfully" in reason for reason in made.reasons)
    with pytest.raises(ClientError, match="denied"):
        client("sagemaker").describe_cluster(ClusterName="denied")
    interfaces = client("ec2").describe_network_interfaces()["NetworkInterfaces"]
    assert [one for one in interfaces if one["PrivateIpAddress"].startswith("10.0.128.")] == []
    stacks.delete(made.name)


def test_a_request_the_service_refuses_fails_the_stack(stacks: Stacks, bundle: str) -> None:
    wrong = parts(bundle, "refused")
    wrong["Cluster"]["Properties"]["InstanceGroups"][1]["InstanceGroupName"] = "head"
    made = stacks.create(wrong)
    assert made.status == "ROLLBACK_COMPLETE"
    assert any(reason.startswith("Resource handler returned message:") for reason in made.reasons)


def test_leftovers_are_told_apart(rehearsal: Rehearsal, stacks: Stacks, client: Client) -> None:
    before = inventory(rehearsal.aws.port, "us-west-2")
    kept = resource("AWS::S3::Bucket") | {"DeletionPolicy": "Retain"}
    made = stacks.create({"Kept": kept}, {"Name": ref("Kept")})
    stacks.delete(made.name)
    client("logs").create_log_group(logGroupName="/aws/lambda/stray")
    left = leftovers(before, inventory(rehearsal.aws.port, "us-west-2"))
    assert left.retained == [Item("bucket", made.outputs["Name"])]
    assert left.unexpected == [Item("log group", "/aws/lambda/stray")]
    client("logs").delete_log_group(logGroupName="/aws/lambda/stray")
    client("s3").delete_bucket(Bucket=made.outputs["Name"])


def test_the_gateway_tells_of_stacks(rehearsal: Rehearsal, stacks: Stacks) -> None:
    made = stacks.create({"Ip": resource("AWS::EC2::EIP")}, {"Address": ref("Ip")})
    aws = _aws(rehearsal.aws.port)
    stack = aws.cloudformation.stack(made.name)
    assert stack is not None
    assert (stack.status, stack.outputs) == ("CREATE_COMPLETE", made.outputs)
    events = aws.cloudformation.stack_events(made.name)
    assert (events[0].status, events[-1].status) == ("CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    stacks.delete(made.name)
    assert (
        aws.cloudformation.stack(made.name),
        aws.cloudformation.stack("never-made"),
        aws.cloudformation.stack_events("never-made"),
    ) == (None, None, [])


def test_an_unreachable_aws_is_one_error_with_a_way_out() -> None:
    aws = _aws(9, Patience(attempts=1))
    with pytest.raises(AwsError, match="DescribeStacks of stack x: Could not connect") as failed:
        aws.cloudformation.stack("x")
    assert "network" in failed.value.hint


def test_missing_credentials_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(AwsError, match="no AWS credentials were found") as failed:
        connect("us-west-2", "http://127.0.0.1:9").sagemaker.cluster("x")
    assert "aws sso login" in failed.value.hint


def _aws(port: int, patience: Patience | None = None) -> Aws:
    credentials = with_keys("key", "secret")
    return over(Session("us-west-2", f"http://127.0.0.1:{port}", patience, credentials))
