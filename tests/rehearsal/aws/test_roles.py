"""Roles are held to what their calls need: take a right away, and what needs it fails and says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.aws.network import allow, attribute, function, ref, resource, vpc
from tests.rehearsal.aws.support import Stacks
from tests.rehearsal.aws.test_deployment import archive, deployment, emptied
from unbroken.rehearsal.aws.environment import ACCOUNT
from unbroken.rehearsal.aws.store import EmbeddedStore
from unbroken.rehearsal.composition import Rehearsal
from unbroken.rehearsal.hyperpod.machines import AccessDenied, NotFound

Client = Callable[[str], Any]
Statement = dict[str, Any]
GOLDEN = Path(__file__).resolve().parents[2] / "synth" / "golden"

NOT_ENFORCED = {
    "cloudwatch:PutMetricData", "ec2:DeleteNetworkInterface", "ec2:DeleteNetworkInterfacePermission",
    "ec2:DetachNetworkInterface", "kms:DescribeKey", "logs:DescribeLogStreams",
    "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel", "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
}  # fmt: skip
"""Rights of our execution role that nothing in the rehearsal needs; the ledger says so."""


@dataclass
class Closed:
    """A cluster's surroundings, with everything encrypted, and its role as our template has it."""

    store: EmbeddedStore
    iam: Any
    role: str
    names: dict[str, str]

    def everything(self) -> None:
        """All that HyperPod does with the role."""
        store, names = self.store, self.names
        held = store.attach_interface(names["Subnet"], [names["Group"]], "10.0.128.20", self.role)
        store.detach_interface(held)
        store.check_volume_key(names["Key"], self.role)
        group = "/aws/sagemaker/Clusters/ml-closed/abcdefghijkl"
        store.put_log_lines(group, "LifecycleConfig/head/i-1", ["line"], self.role)
        store.clients.logs.delete_log_group(logGroupName=group)
        store.fetch(f"s3://{names['Bucket']}/lifecycle/1/", self.role)

    def policies(self) -> dict[str, Any]:
        """The role's inline policies by name."""
        names = self.iam.list_role_policies(RoleName=self.role)["PolicyNames"]
        asked = {name: self.iam.get_role_policy(RoleName=self.role, PolicyName=name) for name in names}
        return {name: answer["PolicyDocument"] for name, answer in asked.items()}

    def put(self, name: str, policy: Any) -> None:
        """Change one of them."""
        document = json.dumps(policy)
        self.iam.put_role_policy(RoleName=self.role, PolicyName=name, PolicyDocument=document)


def our_role(names: dict[str, str]) -> Any:
    """The execution role of the example without internet, for these surroundings."""
    template = (GOLDEN / "no-internet" / "identity.json").read_text()
    found = json.loads(template)["Resources"]
    [made] = [body for body in found.values() if body["Type"] == "AWS::IAM::Role"]

    def resolved(value: Any) -> Any:
        if isinstance(value, list):
            return [resolved(item) for item in value]
        if not isinstance(value, dict):
            return value
        output = str(value.get("Fn::GetStackOutput", {}).get("OutputName", ""))
        for part, name in (("Subnet", "Subnet"), ("SecurityGroup", "Group"), ("Key", "Key")):
            if part in output:
                return names[name]
        return {key: resolved(item) for key, item in value.items()}

    return resolved(made)


@pytest.fixture(scope="module")
def closed(rehearsal: Rehearsal, empty_account: None) -> Iterator[Closed]:
    client = rehearsal.aws.clients.of
    stacks = Stacks(client("cloudformation"))
    administers = {
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
        "Action": "kms:*",
        "Resource": "*",
    }
    encrypted = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": attribute("Arn", "Key")}
    parts = vpc() | {
        "Key": resource("AWS::KMS::Key", KeyPolicy={"Version": "2012-10-17", "Statement": [administers]}),
        "Bucket": resource(
            "AWS::S3::Bucket",
            BucketName=f"sagemaker-ml-closed-faf9c0-{ACCOUNT}-us-west-2",
            BucketEncryption={
                "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": encrypted}]
            },
        ),
    }
    outputs = {
        "Subnet": ref("Subnet"), "Group": attribute("GroupId", "Group"), "Key": attribute("Arn", "Key"),
        "Bucket": ref("Bucket"),
    }  # fmt: skip
    made = stacks.create(parts, outputs)
    assert made.status == "CREATE_COMPLETE", made.reasons
    client("s3").put_object(
        Bucket=made.outputs["Bucket"], Key="lifecycle/1/on_create.sh", Body=b"#!/bin/sh\n"
    )
    identity = stacks.create({"Role": our_role(made.outputs)}, {"Name": ref("Role")})
    assert identity.status == "CREATE_COMPLETE", identity.reasons
    yield Closed(rehearsal.store, client("iam"), identity.outputs["Name"], made.outputs)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.behaviour("HP237")
def test_every_right_of_our_execution_role_is_needed_or_said_not_to_be_enforced(closed: Closed) -> None:
    closed.everything()
    unneeded = set()
    for name, policy in closed.policies().items():
        for statement in policy["Statement"]:
            actions = listed(statement["Action"])
            for action in actions:
                rest = [one for one in actions if one != action]
                others = [one for one in policy["Statement"] if one is not statement]
                reduced = others + ([statement | {"Action": rest}] if rest else [])
                closed.put(name, policy | {"Statement": reduced or [allow("sts:TagSession")]})
                try:
                    closed.everything()
                    unneeded.add(action)
                except AccessDenied as denied:
                    assert action in str(denied) and "on resource: " in str(denied)
        closed.put(name, policy)
    assert unneeded == NOT_ENFORCED
    closed.everything()


@pytest.mark.behaviour("HP238")
def test_conditions_and_resources_count(closed: Closed) -> None:
    for name, statement, said in (
        ("vpc", "OwnInterfaces", "ec2:CreateNetworkInterfacePermission"),
        ("keys", "BundleKey", "kms:Decrypt"),
        ("keys", "VolumeKeys", "kms:CreateGrant"),
        ("bundle", "List", "s3:ListBucket"),
    ):
        policy = closed.policies()[name]
        for key, value in (
            ("Condition", {"StringEquals": {"kms:ViaService": "elsewhere", "aws:PrincipalTag/x": "y"}}),
            ("Resource", "arn:aws:s3:::another"),
        ):
            changed = [
                one | {key: value} if one.get("Sid") == statement else one for one in policy["Statement"]
            ]
            closed.put(name, policy | {"Statement": changed})
            with pytest.raises(AccessDenied, match=said):
                closed.everything()
        closed.put(name, policy)
    closed.everything()


def test_a_role_is_known_by_its_own_arn(closed: Closed) -> None:
    arn = closed.iam.get_role(RoleName=closed.role)["Role"]["Arn"]
    policy = closed.policies()["bundle"]
    own = [one | {"Condition": {"ArnEquals": {"aws:PrincipalArn": arn}}} for one in policy["Statement"]]
    closed.put("bundle", policy | {"Statement": own})
    closed.everything()
    closed.put("bundle", policy)


def test_a_key_that_does_not_work_opens_and_encrypts_nothing(closed: Closed, client: Client) -> None:
    kms, key = client("kms"), closed.names["Key"]
    kms.disable_key(KeyId=key)
    with pytest.raises(NotFound, match="it is in state Disabled"):
        closed.store.check_volume_key(key, closed.role)
    with pytest.raises(AccessDenied, match="it is in state Disabled"):
        closed.store.fetch(f"s3://{closed.names['Bucket']}/lifecycle/1/", closed.role)
    kms.enable_key(KeyId=key)
    policy = json.loads(kms.get_key_policy(KeyId=key, PolicyName="default")["Policy"])
    for statement in policy["Statement"]:
        statement["Action"] = ["kms:Put*", "kms:Describe*"]
    kms.put_key_policy(KeyId=key, PolicyName="default", Policy=json.dumps(policy))
    with pytest.raises(AccessDenied, match="kms:CreateGrant"):
        closed.store.check_volume_key(key, closed.role)


UPLOADS = {
    "s3:PutObject": allow("s3:PutObject", "arn:aws:s3:::*/lifecycle/1/*"),
    "s3:ListBucket": allow("s3:ListBucket", StringEquals={"s3:prefix": ["lifecycle/1/"]}),
    "s3:GetObject": allow("s3:GetObject"),
}
EMPTYING = {
    "s3:GetBucketTagging": "s3:GetBucket*", "s3:ListBucketVersions": "s3:List*",
    "s3:DeleteObjectVersion": "s3:DeleteObject*",
}  # fmt: skip


@pytest.fixture
def assets(client: Client) -> str:
    """A bucket with the two assets of a deployment."""
    client("s3").create_bucket(
        Bucket="assets-of-roles", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
    )
    client("s3").put_object(Bucket="assets-of-roles", Key="one.zip", Body=archive(a__sh=b""))
    client("s3").put_object(Bucket="assets-of-roles", Key="two.zip", Body=archive(b__sh=b""))
    return "assets-of-roles"


@pytest.mark.behaviour("HP239")
def test_an_upload_is_held_to_its_functions_role(stacks: Stacks, client: Client, assets: str) -> None:
    def parts(*statements: Statement) -> dict[str, Any]:
        bucket = {"Bucket": resource("AWS::S3::Bucket")}
        return function(*statements) | bucket | {"Upload": deployment(assets, "lifecycle/1/")}

    for action in UPLOADS:
        failed = stacks.create(parts(*(UPLOADS[other] for other in UPLOADS if other != action)))
        assert failed.status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
        assert any(f"{action} on resource: arn:aws:s3:::" in reason for reason in failed.reasons)
    made = stacks.create(parts(*UPLOADS.values()))
    assert made.status == "CREATE_COMPLETE", made.reasons


def bucket_of(client: Client, stack: str) -> str:
    found = client("cloudformation").describe_stack_resources(StackName=stack)["StackResources"]
    [bucket] = [one["PhysicalResourceId"] for one in found if one["LogicalResourceId"] == "Bucket"]
    return str(bucket)


def emptied_by_policy(*without: str) -> dict[str, Any]:
    """A bucket whose policy lets the function empty it, as CDK makes it."""
    granted = [pattern for action, pattern in EMPTYING.items() if action not in without]
    arn = attribute("Arn", "Bucket")
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": attribute("Arn", "FunctionRole")},
        "Action": granted,
        "Resource": [arn, {"Fn::Join": ["", [arn, "/*"]]}],
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    parts = emptied() | function()
    parts["Policy"] = resource("AWS::S3::BucketPolicy", Bucket=ref("Bucket"), PolicyDocument=policy)
    parts["Empty"]["DependsOn"] = "Policy"
    return parts


@pytest.mark.behaviour("HP240")
def test_a_bucket_is_emptied_by_the_rights_its_own_policy_gives(stacks: Stacks, client: Client) -> None:
    for action in EMPTYING:
        made = stacks.create(emptied_by_policy(action))
        assert made.status == "CREATE_COMPLETE", made.reasons
        failed = stacks.delete(made.name)
        assert failed.status == "DELETE_FAILED"
        assert any(action.removesuffix("Version") in reason for reason in failed.reasons), failed.reasons
        client("cloudformation").delete_stack(StackName=made.name, RetainResources=["Empty"])
    made = stacks.create(emptied_by_policy())
    client("s3").put_object(Bucket=bucket_of(client, made.name), Key="k", Body=b"")
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
