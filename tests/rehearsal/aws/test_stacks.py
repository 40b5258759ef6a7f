"""CloudFormation's own behaviour: order, rollbacks, replacement, retention, protection, and what it tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import after, attribute, file_system, ref, resource, vpc
from tests.rehearsal.aws.support import Stacks
from unbroken.rehearsal.aws.failures import Failure, Failures, Verb

Client = Callable[[str], Any]
Resources = dict[str, Any]
VERSIONED = {"VersioningConfiguration": {"Status": "Enabled"}}


def events(client: Client, name: str) -> list[tuple[str, str]]:
    """Logical id and status, the oldest first."""
    found = client("cloudformation").describe_stack_events(StackName=name)["StackEvents"]
    return [(one["LogicalResourceId"], one["ResourceStatus"]) for one in reversed(found)]


def parameter(value: Any = "x", **properties: Any) -> Any:
    return resource("AWS::SSM::Parameter", Type="String", Value=value, **properties)


@pytest.mark.behaviour("HP228")
def test_creation_follows_dependencies_and_deletion_goes_back(stacks: Stacks, client: Client) -> None:
    parts = {
        "Last": after("Middle", parameter()),
        "Middle": after("First", parameter()),
        "First": parameter(),
    }
    made = stacks.create(parts)
    told = events(client, made.name)
    assert told[0] == (made.name, "CREATE_IN_PROGRESS") and told[-1] == (made.name, "CREATE_COMPLETE")
    done = [name for name, status in told if status == "CREATE_COMPLETE"]
    assert done == ["First", "Middle", "Last", made.name]
    stack_id = client("cloudformation").describe_stacks(StackName=made.name)["Stacks"][0]["StackId"]
    stacks.delete(made.name)
    gone = [name for name, status in events(client, stack_id) if status == "DELETE_COMPLETE"]
    assert gone == ["Last", "Middle", "First", made.name]
    with pytest.raises(ClientError, match="does not exist"):
        events(client, made.name)


@pytest.mark.behaviour("HP229")
def test_a_failed_create_is_undone_and_says_why(stacks: Stacks, client: Client, failures: Failures) -> None:
    failures.add(Failure("create", "no more", logical_id="Second"))
    parts = {"First": parameter(), "Second": after("First", parameter())}
    failed = stacks.create(parts)
    assert failed.status == "ROLLBACK_COMPLETE"
    assert any("failed to create: [Second]. Rollback requested by user." in r for r in failed.reasons)
    told = events(client, failed.name)
    assert told.index(("Second", "CREATE_FAILED")) < told.index((failed.name, "ROLLBACK_IN_PROGRESS"))
    assert told[-2:] == [("First", "DELETE_COMPLETE"), (failed.name, "ROLLBACK_COMPLETE")]
    with pytest.raises(ClientError, match="ROLLBACK_COMPLETE state and cannot be updated"):
        stacks.update(failed.name, parts)
    assert stacks.delete(failed.name).status == "DELETE_COMPLETE"


@pytest.mark.behaviour("HP230")
def test_an_update_tells_of_what_changes_only(stacks: Stacks, client: Client) -> None:
    made = stacks.create({"Same": parameter(), "Changed": parameter("old"), "Gone": parameter()})
    parts = {"Same": parameter(), "Changed": parameter("new"), "New": parameter()}
    assert stacks.update(made.name, parts).status == "UPDATE_COMPLETE"
    told = events(client, made.name)
    told = told[told.index((made.name, "CREATE_COMPLETE")) + 1 :]
    assert told[0] == (made.name, "UPDATE_IN_PROGRESS") and told[-1] == (made.name, "UPDATE_COMPLETE")
    assert {one for one in told if one[0] not in (made.name,)} == {
        ("Changed", "UPDATE_IN_PROGRESS"), ("Changed", "UPDATE_COMPLETE"),
        ("New", "CREATE_IN_PROGRESS"), ("New", "CREATE_COMPLETE"),
        ("Gone", "DELETE_IN_PROGRESS"), ("Gone", "DELETE_COMPLETE"),
    }  # fmt: skip
    cleanup = told.index((made.name, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"))
    assert told.index(("New", "CREATE_COMPLETE")) < cleanup < told.index(("Gone", "DELETE_IN_PROGRESS"))
    stacks.delete(made.name)


@pytest.mark.behaviour("HP231")
@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_a_create_only_property_replaces(stacks: Stacks, client: Client, policy: str) -> None:
    def stored(group: str) -> Resources:
        more = resource("AWS::EC2::SecurityGroup", VpcId=ref("Vpc"), GroupDescription="more")
        system = file_system() | {"UpdateReplacePolicy": policy}
        system["Properties"]["SecurityGroupIds"] = [attribute("GroupId", group)]
        return vpc() | {"More": more, "FileSystem": system}

    outputs = {"Id": ref("FileSystem")}
    made = stacks.create(stored("Group"), outputs)
    changed = stacks.update(made.name, stored("More"), outputs)
    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    assert changed.outputs["Id"] != made.outputs["Id"]
    assert any("requires the creation of a new physical resource" in reason for reason in changed.reasons)
    there = {one["FileSystemId"] for one in client("fsx").describe_file_systems()["FileSystems"]}
    assert (made.outputs["Id"] in there) is (policy == "Retain")
    if policy == "Retain":
        client("fsx").delete_file_system(FileSystemId=made.outputs["Id"])
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_a_change_set_says_what_will_be_replaced(stacks: Stacks, client: Client) -> None:
    made = stacks.create(vpc() | {"FileSystem": file_system()})
    larger, encrypted = file_system(), file_system()
    larger["Properties"]["StorageCapacity"] = 2400
    encrypted["Properties"]["KmsKeyId"] = "alias/none"
    cloudformation = client("cloudformation")
    for number, (system, replaced) in enumerate(((larger, "False"), (encrypted, "True"))):
        name = f"c{number}"
        cloudformation.create_change_set(
            StackName=made.name, ChangeSetName=name,
            TemplateBody=json.dumps({"Resources": vpc() | {"FileSystem": system}}),
        )  # fmt: skip
        [change] = cloudformation.describe_change_set(StackName=made.name, ChangeSetName=name)["Changes"]
        assert change["ResourceChange"]["Replacement"] == replaced
        cloudformation.delete_change_set(StackName=made.name, ChangeSetName=name)
    stacks.delete(made.name)


@pytest.mark.behaviour("HP232")
def test_a_failed_delete_is_tried_again_with_or_without_the_resource(
    stacks: Stacks, client: Client, failures: Failures
) -> None:
    made = stacks.create({"Stuck": parameter(), "Free": parameter()})
    failures.add(Failure("delete", "in use", logical_id="Stuck", always=True))
    failed = stacks.delete(made.name)
    assert failed.status == "DELETE_FAILED"
    assert any("failed to delete: [Stuck]" in reason for reason in failed.reasons)
    cloudformation = client("cloudformation")
    left = cloudformation.list_stack_resources(StackName=made.name)["StackResourceSummaries"]
    assert [(one["LogicalResourceId"], one["ResourceStatus"]) for one in left] == [("Stuck", "DELETE_FAILED")]
    physical = left[0]["PhysicalResourceId"]
    stack_id = cloudformation.describe_stacks(StackName=made.name)["Stacks"][0]["StackId"]
    cloudformation.delete_stack(StackName=made.name, RetainResources=["Stuck"])
    assert stacks.settled(stack_id).status == "DELETE_COMPLETE"
    assert ("Stuck", "DELETE_SKIPPED") in events(client, stack_id)
    client("ssm").delete_parameter(Name=physical)


@pytest.mark.behaviour("HP233")
def test_a_protected_stack_is_not_deleted(stacks: Stacks, client: Client) -> None:
    made = stacks.create({"One": parameter()})
    cloudformation = client("cloudformation")
    cloudformation.update_termination_protection(StackName=made.name, EnableTerminationProtection=True)
    with pytest.raises(ClientError, match="cannot be deleted while TerminationProtection is enabled"):
        cloudformation.delete_stack(StackName=made.name)
    cloudformation.update_termination_protection(StackName=made.name, EnableTerminationProtection=False)
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


@pytest.mark.behaviour("HP234")
@pytest.mark.parametrize(("policy", "left"), [("Retain", 1), ("RetainExceptOnCreate", 0)])
def test_what_is_retained_of_a_failed_create(
    stacks: Stacks, client: Client, failures: Failures, policy: str, left: int
) -> None:
    kept = resource("AWS::Logs::LogGroup", LogGroupName="kept") | {"DeletionPolicy": policy}
    failures.add(Failure("create", "no more", logical_id="Second"))
    failed = stacks.create({"Kept": kept, "Second": after("Kept", parameter())})
    assert failed.status == "ROLLBACK_COMPLETE"
    logs = client("logs")
    assert len(logs.describe_log_groups(logGroupNamePrefix="kept")["logGroups"]) == left
    if left:
        logs.delete_log_group(logGroupName="kept")
    made = stacks.create({"Kept": kept})
    stacks.delete(made.name)
    assert len(logs.describe_log_groups(logGroupNamePrefix="kept")["logGroups"]) == 1
    logs.delete_log_group(logGroupName="kept")


@pytest.mark.behaviour("HP235")
def test_a_rollback_that_fails_can_be_continued(
    stacks: Stacks, client: Client, failures: Failures, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parts(value: str) -> Resources:
        return {"First": parameter(value), "Second": after("First", parameter(value))}

    made = stacks.create(parts("old"))
    cloudformation = client("cloudformation")
    failures.add(Failure("update", "no", logical_id="Second", always=True))
    original, back = failures.strike, Failure("update", "not back either", logical_id="First")

    def strike(verb: Verb, kind: str, logical_id: str, stack_name: str) -> None:
        """First goes forth, and is then set not to go back."""
        original(verb, kind, logical_id, stack_name)
        if (verb, logical_id) == ("update", "First"):
            failures.add(back)

    monkeypatch.setattr(failures, "strike", strike)
    failed = stacks.update(made.name, parts("new"))
    monkeypatch.undo()
    assert failed.status == "UPDATE_ROLLBACK_FAILED", failed.reasons
    with pytest.raises(ClientError, match="UPDATE_ROLLBACK_FAILED state and cannot be updated"):
        stacks.update(made.name, parts("newer"))
    failures.clear()
    cloudformation.continue_update_rollback(StackName=made.name)
    assert stacks.settled(made.name).status == "UPDATE_ROLLBACK_COMPLETE"
    stacks.delete(made.name)


def test_the_stack_shows_its_template_and_its_resources(stacks: Stacks, client: Client) -> None:
    parts = {"One": parameter(), "Two": parameter()}
    made = stacks.create(parts)
    cloudformation = client("cloudformation")
    original = cloudformation.get_template(StackName=made.name, TemplateStage="Original")["TemplateBody"]
    shown = json.loads(original) if isinstance(original, str) else original
    assert shown == {"Resources": parts}
    described = cloudformation.describe_stack_resources(StackName=made.name)["StackResources"]
    listed = cloudformation.list_stack_resources(StackName=made.name)["StackResourceSummaries"]
    ids = {one["PhysicalResourceId"] for one in described}
    assert ids == {one["PhysicalResourceId"] for one in listed} and len(ids) == 2
    stacks.delete(made.name)


@pytest.mark.behaviour("HP236")
def test_a_stack_reads_another_ones_outputs(stacks: Stacks, client: Client) -> None:
    producer = stacks.create({"One": parameter("value")}, {"Name": ref("One")})
    wanted = {"Fn::GetStackOutput": {"StackName": producer.name, "OutputName": "Name"}}
    consumer = stacks.create({"Two": parameter(wanted)}, {"Read": attribute("Value", "Two")})
    assert consumer.status == "CREATE_COMPLETE", consumer.reasons
    assert consumer.outputs["Read"] == producer.outputs["Name"]
    missing = {"Fn::GetStackOutput": {"StackName": producer.name, "OutputName": "Nothing"}}
    failed = stacks.create({"Two": parameter(missing)})
    assert failed.status == "ROLLBACK_COMPLETE"
    for one in (consumer, producer, failed):
        stacks.delete(one.name)
