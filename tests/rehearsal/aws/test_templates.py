"""Templates that CloudFormation would refuse are refused before anything is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import file_system, resource, vpc
from tests.rehearsal.aws.support import Stacks, template

Client = Callable[[str], Any]


@pytest.mark.behaviour("HP204")
def test_an_unknown_type(stacks: Stacks) -> None:
    with pytest.raises(ClientError, match=r"Unrecognized resource types: \[AWS::EC2::Subnett\]"):
        stacks.create({"Thing": resource("AWS::EC2::Subnett")})


@pytest.mark.behaviour("HP205")
@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"Bucket": resource("AWS::S3::Bucket", BuketName="x")}, r"Bucket/Properties.*BuketName"),
        (vpc() | {"Fs": file_system(Deployment="x")}, r"Fs/Properties/LustreConfiguration.*Deployment"),
        (
            {"Cluster": resource("AWS::SageMaker::Cluster", ClusterName="-a")},
            r"Cluster/Properties/ClusterName",
        ),
    ],
)
def test_properties_that_break_the_schema(stacks: Stacks, parts: dict[str, Any], said: str) -> None:
    with pytest.raises(ClientError, match=said) as refused:
        stacks.create(parts)
    assert refused.value.response["Error"]["Code"] == "ValidationError"


def test_a_change_set_is_checked_too(client: Client) -> None:
    cloudformation = client("cloudformation")
    body = template({"Bucket": resource("AWS::S3::Bucket", BuketName="x")}, None)
    with pytest.raises(ClientError, match="BuketName"):
        cloudformation.create_change_set(
            StackName="never-made", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body
        )
    with pytest.raises(ClientError, match="does not exist"):
        cloudformation.describe_stacks(StackName="never-made")


def test_a_custom_resource_nobody_replays(stacks: Stacks) -> None:
    with pytest.raises(ClientError, match=r"Mine: Custom::Thing needs a Lambda function"):
        stacks.create(
            {"Mine": resource("Custom::Thing", ServiceToken="arn:aws:lambda:us-west-2:1:function:f")}
        )
