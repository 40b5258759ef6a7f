"""Workspaces, budgets, log groups, keys, metrics, and what nobody emulates."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import attribute, file_system, ref, resource, role, vpc
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws.environment import ACCOUNT
from unbroken.rehearsal.aws.workspace_resources import GrafanaWorkspace
from unbroken.rehearsal.composition import Rehearsal
from unbroken.rehearsal.hyperpod.schema import violations

Client = Callable[[str], Any]
Resources = dict[str, Any]
ROOT = f"arn:aws:iam::{ACCOUNT}:root"
TAGS = [{"Key": "unbroken:cluster", "Value": "c"}]


def shaped(client: Client, service: str, operation: str, answer: dict[str, Any]) -> bool:
    """Whether an answer has the shape of the API."""
    shape = client(service).meta.service_model.operation_model(operation).output_shape
    return not list(violations(shape, {k: v for k, v in answer.items() if k != "ResponseMetadata"}))


def grafana(**changes: Any) -> Any:
    settings = {
        "AccountAccessType": "CURRENT_ACCOUNT",
        "AuthenticationProviders": ["AWS_SSO"],
        "PermissionType": "SERVICE_MANAGED",
        "Name": "dashboards",
        "Tags": TAGS,
    }
    return resource("AWS::Grafana::Workspace", **(settings | changes))


@pytest.fixture
def no_identity_center(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(GrafanaWorkspace, "identity_center", False)
    yield


def test_workspaces_come_change_and_go(stacks: Stacks, client: Client) -> None:
    def parts(alias: str) -> Resources:
        prometheus = resource("AWS::APS::Workspace", Alias=alias, Tags=TAGS)
        return {"Prometheus": prometheus, "Grafana": grafana(Name=alias)}

    outputs = {
        "Arn": ref("Prometheus"),
        "Url": attribute("PrometheusEndpoint", "Prometheus"),
        "Grafana": ref("Grafana"),
        "Endpoint": attribute("Endpoint", "Grafana"),
    }
    made = stacks.create(parts("one"), outputs)
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert made.outputs["Endpoint"].startswith(made.outputs["Grafana"])
    amp, dashboards = client("amp"), client("grafana")
    for service, listed in (("amp", amp.list_workspaces()), ("grafana", dashboards.list_workspaces())):
        assert shaped(client, service, "ListWorkspaces", listed)
        assert listed["workspaces"][0]["tags"]["unbroken:cluster"] == "c"
    workspace = made.outputs["Arn"].rpartition("/")[2]
    seen = amp.describe_workspace(workspaceId=workspace)
    assert shaped(client, "amp", "DescribeWorkspace", seen)
    assert seen["workspace"]["prometheusEndpoint"] == made.outputs["Url"]
    whole = dashboards.describe_workspace(workspaceId=made.outputs["Grafana"])
    assert shaped(client, "grafana", "DescribeWorkspace", whole)
    changed = stacks.update(made.name, parts("two"), outputs)
    assert (changed.status, changed.outputs) == ("UPDATE_COMPLETE", made.outputs)
    assert amp.list_workspaces()["workspaces"][0]["alias"] == "two"
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    assert amp.list_workspaces()["workspaces"] == dashboards.list_workspaces()["workspaces"] == []
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        amp.describe_workspace(workspaceId=workspace)
    with pytest.raises(ClientError, match="is not part of the embedded AWS"):
        amp.list_rule_groups_namespaces(workspaceId=workspace)


@pytest.mark.behaviour("HP223")
def test_grafana_needs_people_who_can_log_in_and_a_role_it_can_assume(
    stacks: Stacks, no_identity_center: None
) -> None:
    saml = {"AuthenticationProviders": ["SAML"]}
    wrong_role = {"RoleArn": attribute("Arn", "Role"), "PermissionType": "CUSTOMER_MANAGED"}
    for parts, said in (
        ({"Grafana": grafana()}, "AWS_SSO needs IAM Identity Center"),
        ({"Grafana": grafana(**saml, PermissionType="CUSTOMER_MANAGED")}, "RoleArn is required"),
        ({"Role": role(), "Grafana": grafana(**saml, **wrong_role)}, "grafana.amazonaws.com cannot assume"),
    ):
        failed = stacks.create(parts)
        assert failed.status == "ROLLBACK_COMPLETE"
        assert any(said in reason for reason in failed.reasons), failed.reasons
        stacks.delete(failed.name)
    made = stacks.create({"Grafana": grafana(**saml)})
    assert made.status == "CREATE_COMPLETE", made.reasons
    stacks.delete(made.name)


def test_a_budget_comes_changes_and_goes(stacks: Stacks, client: Client) -> None:
    def budget(amount: int) -> Resources:
        person = {"SubscriptionType": "EMAIL", "Address": "team@example.com"}
        alarm = {"NotificationType": "ACTUAL", "ComparisonOperator": "GREATER_THAN", "Threshold": 80}
        limit = {"Amount": amount, "Unit": "USD"}
        return {
            "Budget": resource(
                "AWS::Budgets::Budget",
                Budget={"BudgetType": "COST", "TimeUnit": "MONTHLY", "BudgetLimit": limit},
                NotificationsWithSubscribers=[{"Notification": alarm, "Subscribers": [person]}],
            )
        }

    made = stacks.create(budget(100), {"Name": ref("Budget")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    budgets, name = client("budgets"), made.outputs["Name"]
    [seen] = budgets.describe_budgets(AccountId=ACCOUNT)["Budgets"]
    assert (seen["BudgetName"], seen["BudgetLimit"]["Amount"]) == (name, "100")
    told = budgets.describe_notifications_for_budget(AccountId=ACCOUNT, BudgetName=name)["Notifications"]
    assert [one["Threshold"] for one in told] == [80]
    assert stacks.update(made.name, budget(200), {"Name": ref("Budget")}).outputs == made.outputs
    [seen] = budgets.describe_budgets(AccountId=ACCOUNT)["Budgets"]
    assert seen["BudgetLimit"]["Amount"] == "200"
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    assert budgets.describe_budgets(AccountId=ACCOUNT)["Budgets"] == []


def key(*statements: dict[str, Any], **properties: Any) -> Any:
    """A key that the account administers, with these statements besides."""
    whole = {"Effect": "Allow", "Principal": {"AWS": ROOT}, "Action": "kms:*", "Resource": "*"}
    document = {"Version": "2012-10-17", "Statement": [whole, *statements]}
    return resource("AWS::KMS::Key", KeyPolicy=document, **properties)


FOR_LOGS = {
    "Effect": "Allow",
    "Principal": {"Service": "logs.us-west-2.amazonaws.com"},
    "Action": ["kms:Encrypt*", "kms:Decrypt*", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"],
    "Resource": "*",
    "Condition": {
        "ArnLike": {"kms:EncryptionContext:aws:logs:arn": f"arn:aws:logs:us-west-2:{ACCOUNT}:log-group:*"}
    },
}


def encrypted_group(made_key: Any, **properties: Any) -> Resources:
    group = resource("AWS::Logs::LogGroup", KmsKeyId=attribute("Arn", "Key"), **properties)
    return {"Key": made_key, "Group": group}


@pytest.mark.behaviour("HP224")
def test_an_encrypted_log_group_needs_a_key_that_lets_the_service_in(stacks: Stacks) -> None:
    elsewhere = FOR_LOGS | {"Condition": {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": "arn:aws:x"}}}
    for wrong, said in (
        (key(), "kms:Encrypt on resource"),
        (key(elsewhere), "kms:Encrypt on resource"),
        (key(FOR_LOGS | {"Action": ["kms:Encrypt*"]}), "kms:Decrypt on resource"),
        (key(FOR_LOGS, Enabled=False), "it is in state Disabled"),
    ):
        failed = stacks.create(encrypted_group(wrong))
        assert failed.status == "ROLLBACK_COMPLETE"
        assert any(said in reason for reason in failed.reasons), failed.reasons
        stacks.delete(failed.name)
    made = stacks.create(encrypted_group(key(FOR_LOGS), RetentionInDays=30), {"Name": ref("Group")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    stacks.delete(made.name)


def test_a_log_group_changes_in_place_and_is_not_taken_over(stacks: Stacks, client: Client) -> None:
    def group(days: int, **properties: Any) -> Resources:
        return {"Group": resource("AWS::Logs::LogGroup", RetentionInDays=days, Tags=TAGS, **properties)}

    made = stacks.create(group(7), {"Name": ref("Group"), "Arn": attribute("Arn", "Group")})
    name = made.outputs["Name"]
    client("logs").create_log_stream(logGroupName=name, logStreamName="kept")
    assert stacks.update(made.name, group(30), {"Name": ref("Group")}).outputs["Name"] == name
    [seen] = client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    assert seen["retentionInDays"] == 30
    streams = client("logs").describe_log_streams(logGroupName=name)["logStreams"]
    assert [stream["logStreamName"] for stream in streams] == ["kept"]
    arn = made.outputs["Arn"].removesuffix(":*")
    assert client("logs").list_tags_for_resource(resourceArn=arn)["tags"]["unbroken:cluster"] == "c"
    taken = stacks.create(group(7, LogGroupName=name))
    assert taken.status == "ROLLBACK_COMPLETE"
    assert any("already exists" in reason for reason in taken.reasons)
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


@pytest.mark.behaviour("HP225")
def test_a_deleted_key_is_pending_and_encrypts_nothing(stacks: Stacks, client: Client) -> None:
    alias = resource("AWS::KMS::Alias", AliasName="alias/mine", TargetKeyId=ref("Key"))
    made = stacks.create(
        {"Key": key(PendingWindowInDays=7), "Alias": alias}, {"Key": attribute("Arn", "Key")}
    )
    assert made.status == "CREATE_COMPLETE", made.reasons
    again = stacks.create({"Key": key(), "Alias": alias})
    assert any("already exists (AlreadyExistsException)" in reason for reason in again.reasons)
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    metadata = client("kms").describe_key(KeyId=made.outputs["Key"])["KeyMetadata"]
    assert metadata["KeyState"] == "PendingDeletion"
    encrypted = file_system()
    encrypted["Properties"]["KmsKeyId"] = made.outputs["Key"]
    failed = stacks.create(vpc() | {"FileSystem": encrypted})
    assert failed.status == "ROLLBACK_COMPLETE"
    assert any("is in state PendingDeletion" in reason for reason in failed.reasons), failed.reasons


@pytest.mark.behaviour("HP226")
def test_a_key_nobody_could_administer_is_refused(stacks: Stacks) -> None:
    locked = key()
    locked["Properties"]["KeyPolicy"]["Statement"] = [FOR_LOGS]
    failed = stacks.create({"Key": locked})
    assert any("MalformedPolicyDocumentException" in reason for reason in failed.reasons), failed.reasons


def test_nothing_waits_to_be_exported(
    rehearsal: Rehearsal, stacks: Stacks, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = resource(
        "AWS::FSx::DataRepositoryAssociation",
        FileSystemId=ref("FileSystem"),
        FileSystemPath="/data",
        DataRepositoryPath={"Fn::Join": ["", ["s3://", ref("Data")]]},
        S3={"AutoExportPolicy": {"Events": ["NEW"]}},
    )
    parts = vpc() | {"FileSystem": file_system(), "Data": resource("AWS::S3::Bucket"), "Link": link}
    made = stacks.create(parts, {"Id": ref("FileSystem")})

    def newest() -> float:
        now = time.time()
        answer = client("cloudwatch").get_metric_statistics(
            Namespace="AWS/FSx", MetricName="AgeOfOldestQueuedMessage", StartTime=now - 60, EndTime=now + 60,
            Period=60, Statistics=["Maximum"],
            Dimensions=[
                {"Name": "FileSystemId", "Value": made.outputs["Id"]},
                {"Name": "Publisher", "Value": "AutoExport"},
            ],
        )  # fmt: skip
        return max(float(point["Maximum"]) for point in answer["Datapoints"])

    assert newest() == 0
    monkeypatch.setattr(rehearsal.aws.fsx, "export_age_seconds", 90.0)
    assert newest() == 90
    stacks.delete(made.name)


@pytest.mark.behaviour("HP241")
def test_a_link_to_an_encrypted_bucket_needs_a_key_that_fsx_may_use(stacks: Stacks) -> None:
    linked_role = f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/*"
    for_fsx = {
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*"],
        "Resource": "*",
        "Condition": {
            "StringEquals": {"kms:CallerAccount": ACCOUNT, "kms:ViaService": "s3.us-west-2.amazonaws.com"},
            "ArnLike": {"aws:PrincipalArn": linked_role},
        },
    }
    elsewhere = for_fsx | {"Condition": {"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:role/other"}}}

    def parts(made_key: Any) -> Resources:
        default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": ref("Key")}
        rules = [{"ServerSideEncryptionByDefault": default}]
        data = resource("AWS::S3::Bucket", BucketEncryption={"ServerSideEncryptionConfiguration": rules})
        link = resource(
            "AWS::FSx::DataRepositoryAssociation",
            FileSystemId=ref("FileSystem"),
            FileSystemPath="/data",
            DataRepositoryPath={"Fn::Join": ["", ["s3://", ref("Data")]]},
        )
        return vpc() | {"Key": made_key, "Data": data, "FileSystem": file_system(), "Link": link}

    for wrong in (key(), key(elsewhere)):
        failed = stacks.create(parts(wrong))
        assert failed.status == "ROLLBACK_COMPLETE"
        assert any("kms:Decrypt on resource: arn:aws:kms:" in reason for reason in failed.reasons)
    made = stacks.create(parts(key(for_fsx)))
    assert made.status == "CREATE_COMPLETE", made.reasons
    stacks.delete(made.name)


@pytest.mark.behaviour("HP227")
@pytest.mark.parametrize(
    ("service", "operation", "arguments"),
    [
        ("pricing", "get_products", {"ServiceCode": "AmazonSageMaker"}),
        ("service-quotas", "list_service_quotas", {"ServiceCode": "sagemaker"}),
        ("sso-admin", "list_instances", {}),
        ("resourcegroupstaggingapi", "get_resources", {}),
        ("accessanalyzer", "list_analyzers", {}),
        ("sns", "list_topics", {}),
        ("iam", "simulate_principal_policy", {"PolicySourceArn": ROOT, "ActionNames": ["s3:GetObject"]}),
        ("sagemaker", "list_domains", {}),
        ("fsx", "describe_volumes", {}),
    ],
)
def test_what_nobody_emulates_is_refused(
    client: Client, service: str, operation: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(ClientError) as refused:
        getattr(client(service), operation)(**arguments)
    said = refused.value.response["Error"]
    assert said["Code"] == "UnknownOperationException"
    assert "not part of the embedded AWS" in said["Message"] or "not emulate" in said["Message"]
