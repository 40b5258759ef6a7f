"""Every kind of thing that a stack or a service can leave behind is listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.rehearsal.aws.network import (
    attribute,
    file_system,
    public_side,
    ref,
    resource,
    role,
    self_rules,
    vpc,
)
from tests.rehearsal.aws.support import Stacks
from tests.rehearsal.aws.test_fsx import home, link
from tests.rehearsal.aws.test_small_services import grafana, key
from unbroken.rehearsal.aws.inventory import Inventory, Item, inventory, leftovers
from unbroken.rehearsal.aws.listing import LEFT_ALONE, LINKED_ROLE, PENDING_KEY, SOURCES
from unbroken.rehearsal.composition import Rehearsal

Client = Callable[[str], Any]
REGION = "us-west-2"
ENDPOINT = {"VpcId": ref("Vpc"), "ServiceName": "com.amazonaws.us-west-2.s3"}
CODE = {"ZipFile": "exports.handler = async () => {}"}
BUDGET = {"BudgetType": "COST", "TimeUnit": "MONTHLY", "BudgetLimit": {"Amount": 1, "Unit": "USD"}}
POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
ALARM = {
    "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "MetricName": "m",
    "Namespace": "n", "Period": 60, "Statistic": "Sum", "Threshold": 1,
}  # fmt: skip


def everything() -> dict[str, Any]:
    """A resource of every kind that CloudFormation makes."""
    flow = {"ResourceId": ref("Vpc"), "ResourceType": "VPC", "TrafficType": "ALL"}
    delivery = {"LogGroupName": ref("Logs"), "DeliverLogsPermissionArn": attribute("Arn", "Role")}
    return vpc() | self_rules() | public_side() | {
        "Routes": resource("AWS::EC2::RouteTable", VpcId=ref("Vpc")),
        "Endpoint": resource("AWS::EC2::VPCEndpoint", **ENDPOINT, RouteTableIds=[ref("Routes")]),
        "Logs": resource("AWS::Logs::LogGroup"),
        "Role": role(service="vpc-flow-logs"),
        "Flow": resource("AWS::EC2::FlowLog", **flow, **delivery),
        "Policy": resource("AWS::IAM::ManagedPolicy", PolicyDocument=POLICY),
        "Function": resource(
            "AWS::Lambda::Function", Handler="i.h", Runtime="nodejs22.x", Code=CODE,
            Role=attribute("Arn", "Role"),
        ),
        "Alarm": resource("AWS::CloudWatch::Alarm", **ALARM),
        "Parameter": resource("AWS::SSM::Parameter", Type="String", Value="x"),
        "Secret": resource("AWS::SecretsManager::Secret", SecretString="x"),
        "Key": key(),
        "Alias": resource("AWS::KMS::Alias", AliasName="alias/left", TargetKeyId=ref("Key")),
        "Data": resource("AWS::S3::Bucket"),
        "FileSystem": file_system(),
        "Link": link(),
        "Home": home(),
        "Prometheus": resource("AWS::APS::Workspace"),
        "Grafana": grafana(),
        "Budget": resource("AWS::Budgets::Budget", Budget=BUDGET),
    }  # fmt: skip


BY_STACK = {
    "VPC", "subnet", "security group", "security group rule", "internet gateway", "Elastic IP", "NAT gateway",
    "network interface", "route table", "VPC endpoint", "log group", "role", "flow log", "policy", "function",
    "alarm", "parameter", "secret", "KMS key", "KMS alias", "bucket", "file system",
    "data repository association", "Prometheus workspace", "Grafana workspace", "budget", "stack",
}  # fmt: skip


def new(before: Inventory, after: Inventory) -> set[str]:
    return {item.kind for item in after.items - before.items}


def test_what_a_stack_makes_is_listed_and_then_gone(
    rehearsal: Rehearsal, stacks: Stacks, client: Client
) -> None:
    def now() -> Inventory:
        return inventory(rehearsal.aws.port, REGION)

    before = now()
    made = stacks.create(everything())
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert new(before, now()) == BY_STACK
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    left = leftovers(before, now())
    assert {item.kind for item in left.unexpected} == {"file system backup"}
    assert {item.kind for item in left.retained} == {PENDING_KEY}
    for backup in client("fsx").describe_backups()["Backups"]:
        client("fsx").delete_backup(BackupId=backup["BackupId"])
    assert leftovers(before, now()).unexpected == []


def test_what_services_make_is_listed(rehearsal: Rehearsal, client: Client) -> None:
    before = inventory(rehearsal.aws.port, REGION)
    client("iam").create_service_linked_role(AWSServiceName="fsx.amazonaws.com")
    client("lambda").publish_layer_version(
        LayerName="left", Content={"ZipFile": b"PK\x05\x06" + b"\x00" * 18}
    )
    after = inventory(rehearsal.aws.port, REGION)
    assert new(before, after) == {LINKED_ROLE, "layer"}
    assert [item.kind for item in leftovers(before, after).unexpected] == ["layer"]
    assert after.items >= {Item("layer", "left")}


def test_every_kind_has_its_control_here() -> None:
    elsewhere = {"HyperPod cluster"}  # test_cluster.py
    assert set(SOURCES) == BY_STACK | set(LEFT_ALONE) | {"layer", "file system backup"} | elsewhere


def test_a_rule_left_in_somebody_elses_group_is_unexpected(
    rehearsal: Rehearsal, stacks: Stacks, client: Client
) -> None:
    theirs = stacks.create(vpc(), {"Vpc": ref("Vpc"), "Group": attribute("GroupId", "Group")})
    before = inventory(rehearsal.aws.port, REGION)
    group = theirs.outputs["Group"]
    own = resource("AWS::EC2::SecurityGroup", VpcId=theirs.outputs["Vpc"], GroupDescription="ours")
    inward = resource(
        "AWS::EC2::SecurityGroupIngress", GroupId=group, IpProtocol="-1",
        SourceSecurityGroupId=attribute("GroupId", "Own"),
    )  # fmt: skip
    kept = inward | {"DeletionPolicy": "Retain"}
    ours = stacks.create({"Own": own, "In": kept}, {"Rule": ref("In")})
    assert ours.status == "CREATE_COMPLETE", ours.reasons
    assert stacks.delete(ours.name).status == "DELETE_FAILED"  # their group still refers to ours
    left = leftovers(before, inventory(rehearsal.aws.port, REGION))
    assert Item("security group rule", f"{ours.outputs['Rule']} of {group}") in left.unexpected


@pytest.mark.parametrize("kind", sorted(LEFT_ALONE))
def test_what_aws_ends_by_itself_is_not_held_against_us(kind: str) -> None:
    after = Inventory(frozenset({Item(kind, "x"), Item("bucket", "y")}))
    left = leftovers(Inventory(frozenset()), after)
    assert (left.retained, left.unexpected) == ([Item(kind, "x")], [Item("bucket", "y")])
