"""The execution role: what it may do, counted out, and that it may do nothing else."""

from __future__ import annotations

import json
from typing import Any

from tests.synth.build import Synth

# Actions that AWS lets nobody narrow to a resource, and one whose resource is in the service's account.
ANY_RESOURCE = {
    "cloudwatch:PutMetricData",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ec2:DetachNetworkInterface",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
}
NARROWED = {
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:CreateTags",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    "logs:CreateLogGroup",
    "logs:CreateLogStream",
    "logs:DescribeLogStreams",
    "logs:PutLogEvents",
    "s3:GetObject",
    "s3:ListBucket",
}


def statements(synth: Synth) -> list[dict[str, Any]]:
    role = synth.one("identity", "AWS::IAM::Role")["Properties"]
    return [each for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]


def actions(statement: dict[str, Any]) -> set[str]:
    found = statement["Action"]
    return {found} if isinstance(found, str) else set(found)


def test_the_role_may_do_exactly_this(mathstral: Synth) -> None:
    assert set().union(*(actions(each) for each in statements(mathstral))) == ANY_RESOURCE | NARROWED


def test_only_what_cannot_be_narrowed_is_not(mathstral: Synth) -> None:
    wide = [each for each in statements(mathstral) if each["Resource"] == "*"]
    assert set().union(*(actions(each) for each in wide)) == ANY_RESOURCE
    metrics = [each for each in wide if "cloudwatch:PutMetricData" in actions(each)]
    assert metrics[0]["Condition"] == {"StringEquals": {"cloudwatch:namespace": "/aws/sagemaker/Clusters"}}


def test_objects_are_read_from_the_lifecycle_bucket_only(mathstral: Synth) -> None:
    by_action = {
        next(iter(actions(each))): each for each in statements(mathstral) if "s3:" in str(each["Action"])
    }
    name = next(
        body["Properties"]["BucketName"]["Fn::Join"][1]
        for body in mathstral.resources("storage", "AWS::S3::Bucket").values()
        if "BucketName" in body["Properties"]
    )
    bucket = [f"arn:aws:s3:::{name[0]}", *name[1:]]
    assert by_action["s3:ListBucket"]["Resource"]["Fn::Join"][1] == bucket
    assert by_action["s3:GetObject"]["Resource"]["Fn::Join"][1] == [*bucket[:-1], f"{bucket[-1]}/*"]


def test_no_managed_policy_widens_it(mathstral: Synth) -> None:
    assert "ManagedPolicyArns" not in mathstral.one("identity", "AWS::IAM::Role")["Properties"]
    assert mathstral.resources("identity", "AWS::IAM::Policy") == {}


def test_only_sagemaker_may_take_the_role(mathstral: Synth) -> None:
    role = mathstral.one("identity", "AWS::IAM::Role")["Properties"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "sagemaker.amazonaws.com"}


def test_a_boundary_is_on_every_role_and_only_if_given(mathstral: Synth, largest: Synth) -> None:
    for synth, wanted in ((mathstral, None), (largest, "arn:aws:iam::111122223333:policy/boundary")):
        roles = [body for _, _, body in synth.everything() if body["Type"] == "AWS::IAM::Role"]
        assert len(roles) == 4
        assert {role["Properties"].get("PermissionsBoundary") for role in roles} == {wanted}


def test_no_function_may_make_a_log_group(mathstral: Synth) -> None:
    """A late line would bring back the group that the destroy has just deleted."""
    for area, name, body in mathstral.everything():
        if body["Type"] == "AWS::IAM::Role" and area != "identity":
            assert "CreateLogGroup" not in json.dumps(body), name
            assert "ManagedPolicyArns" not in body["Properties"], name
