"""The execution role: what it may do, counted out, and that it may do nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.synth.build import Synth, synth
from tests.synth.conftest import Synthesize
from tests.synth.permissions_page import statements as statements_of

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


def by_sid(synth: Synth) -> dict[str, dict[str, Any]]:
    """The role's statements by Sid."""
    return {each["Sid"]: each for each in statements(synth)}


def test_objects_are_read_from_the_bundles_of_the_lifecycle_bucket_only(mathstral: Synth) -> None:
    name = next(
        body["Properties"]["BucketName"]["Fn::Join"][1]
        for body in mathstral.resources("storage", "AWS::S3::Bucket").values()
        if "BucketName" in body["Properties"]
    )
    bucket = [f"arn:aws:s3:::{name[0]}", *name[1:]]
    assert by_sid(mathstral)["List"]["Resource"]["Fn::Join"][1] == bucket
    prefixes = [f"{bucket[-1]}/lifecycle/*", f"{bucket[-1]}/training/*"]
    read = [each["Fn::Join"][1] for each in by_sid(mathstral)["Objects"]["Resource"]]
    assert read == [[*bucket[:-1], prefix] for prefix in prefixes]


def test_a_brought_bucket_is_the_one_that_is_read(mathstral: Synth, tmp_path: Path) -> None:
    storage = mathstral.config.storage.model_copy(update={"lifecycle_bucket": "sagemaker-ours"})
    other = synth(mathstral.config.model_copy(update={"storage": storage}), tmp_path)
    assert by_sid(other)["List"]["Resource"] == "arn:aws:s3:::sagemaker-ours"


def arns(value: Any) -> list[str]:
    """ARNs as text; a reference to another stack by the name of its output."""
    return [_text(each) for each in (value if isinstance(value, list) else [value])]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if "Fn::GetStackOutput" in value:
        return str(value["Fn::GetStackOutput"]["OutputName"])
    return "".join(_text(part) for part in value["Fn::Join"][1]) if "Fn::Join" in value else ""


def test_interfaces_are_made_in_this_clusters_subnets_and_groups_only(everything: Synth) -> None:
    made = arns(by_sid(everything)["CreateInterfaces"]["Resource"])
    kinds = [arn.split(":")[5].split("/")[0] for arn in made]
    assert sorted(kinds) == ["network-interface", "security-group", "subnet", "subnet"]
    assert not [arn for arn in made if arn.endswith("*") and "network-interface" not in arn]
    assert any("PrivateSubnet" in arn for arn in made)
    assert any("sparezone" in arn for arn in made)
    [own] = by_sid(everything)["OwnInterfaces"]["Condition"]["ArnEquals"].values()
    assert arns(own) == [arn for arn in made if ":subnet/" in arn]


def test_brought_subnets_and_groups_are_named(brought: Synth, tmp_path: Path) -> None:
    identity = brought.config.identity.model_copy(update={"execution_role_arn": None})
    made = synth(brought.config.model_copy(update={"identity": identity}), tmp_path)
    found = arns(by_sid(made)["CreateInterfaces"]["Resource"])
    named = {arn.rpartition("/")[2] for arn in found}
    further = {id_ for group in brought.config.groups() for id_ in group.security_group_ids}
    assert further
    assert named == {"*", "subnet-0123456789abcdef0", "sg-0123456789abcdef0"} | further


def test_keys_are_used_through_their_services_only(everything: Synth) -> None:
    volumes, bundle = by_sid(everything)["VolumeKeys"], by_sid(everything)["BundleKey"]
    services = ["ec2.us-west-2.amazonaws.com", "sagemaker.us-west-2.amazonaws.com"]
    for each in (volumes, by_sid(everything)["LookAtKeys"]):
        assert each["Condition"]["StringEquals"] == {"kms:ViaService": services}
    assert volumes["Condition"]["Bool"] == {"kms:GrantIsForAWSResource": "true"}
    assert volumes["Action"] == "kms:CreateGrant"  # only that call says whom the grant is for
    own = [group.volume_kms_key for group in everything.config.groups() if group.volume_kms_key]
    assert set(own) < set(arns(volumes["Resource"]))
    assert bundle["Action"] == "kms:Decrypt"
    assert bundle["Condition"] == {"StringEquals": {"kms:ViaService": "s3.us-west-2.amazonaws.com"}}


def test_the_accounting_secret_is_the_only_one(synthesized: Synthesize) -> None:
    api = synthesized("api")
    database = api.config.slurm.accounting_database
    assert database is not None
    assert by_sid(api)["AccountingSecret"]["Resource"] == database.secret_arn


def test_what_a_feature_needs_is_granted_with_it_alone(mathstral: Synth) -> None:
    assert not {"VolumeKeys", "BundleKey", "AccountingSecret", "FileSystems"} & set(by_sid(mathstral))


def test_a_brought_role_is_told_and_no_other_is_made(brought: Synth) -> None:
    assert brought.resources("identity", "AWS::IAM::Role") == {}
    assert brought.resources("identity", "AWS::IAM::Policy") == {}


def test_no_statement_is_wide_beyond_the_known_ones(example: Synth) -> None:
    """Over every role of every stack."""
    known = ANY_RESOURCE | {
        "aps:ListWorkspaces", "cloudwatch:GetMetricData", "cloudwatch:ListMetrics",
        "fsx:DescribeFileSystems", "logs:DescribeLogGroups",
    }  # fmt: skip
    for area, name, body in example.everything():
        if body["Type"] in ("AWS::IAM::Role", "AWS::IAM::Policy"):
            wide = [each for each in statements_of(body) if each["Resource"] == "*"]
            assert set().union(*(actions(each) for each in wide)) <= known, f"{area}/{name}"
            assert not [each for each in statements_of(body) if "NotAction" in each or "NotResource" in each]


def test_no_managed_policy_widens_it(mathstral: Synth) -> None:
    assert "ManagedPolicyArns" not in mathstral.one("identity", "AWS::IAM::Role")["Properties"]
    assert mathstral.resources("identity", "AWS::IAM::Policy") == {}


def test_only_sagemaker_may_take_the_role(mathstral: Synth) -> None:
    role = mathstral.one("identity", "AWS::IAM::Role")["Properties"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "sagemaker.amazonaws.com"}


def test_a_boundary_is_on_every_role_and_only_if_given(example: Synth) -> None:
    roles = [body for _, _, body in example.everything() if body["Type"] == "AWS::IAM::Role"]
    assert roles
    wanted = example.config.identity.permissions_boundary
    assert {role["Properties"].get("PermissionsBoundary") for role in roles} == {wanted}


def test_an_example_has_a_boundary(everything: Synth) -> None:
    assert everything.config.identity.permissions_boundary


def test_no_function_may_make_a_log_group(mathstral: Synth) -> None:
    """A late line would bring back the group that the destroy has just deleted."""
    for area, name, body in mathstral.everything():
        if body["Type"] == "AWS::IAM::Role" and area != "identity":
            assert "CreateLogGroup" not in json.dumps(body), name
            assert "ManagedPolicyArns" not in body["Properties"], name
