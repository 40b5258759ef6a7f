"""Deleting one stack to its end: what fails is named, mended where it can be, and tried again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unbroken.aws.cloudformation import Stack, StackEvent
from unbroken.catalog.cloudformation import BUCKET, FILE_SYSTEM, KEEPS, SECURITY_GROUP
from unbroken.checks.result import counted
from unbroken.config import CLUSTER_TAG
from unbroken.ops.errors import CannotRun, CheckFailed
from unbroken.ops.stack_progress import Follower, Told, failures, settled
from unbroken.ops.target import Target

ATTEMPTS = 3
INTERFACE_SECONDS = 1200.0
"""Longest wait for interfaces that a service gives back after its resource is gone (observed: minutes)."""
OF_STACKS = ("vpc_endpoint", "nat_gateway")
"""Kinds of interfaces that a stack's own resources have, and that go with these."""
NETWORK = (SECURITY_GROUP, "AWS::EC2::Subnet", "AWS::EC2::VPC", "AWS::EC2::InternetGateway")


def remove(target: Target, cluster: str, stack: Stack, told: Told) -> None:
    """Delete a stack of this cluster. CannotRun for another's or a protected one, CheckFailed if it stays."""
    guard(target, cluster, stack)
    if stack.busy:
        told(f"{stack.name} is {stack.status}: waiting for that to end")
        settled(target, stack, Follower(target, stack, told))
    _wait_for_interfaces(target, stack, told)
    for _ in range(ATTEMPTS):
        follower = Follower(target, stack, told)
        target.aws.cloudformation.delete(stack.id or stack.name)
        if settled(target, stack, follower) is None:
            _forget_backups(target, stack, told)
            return
        stuck = list(failures(follower.seen, stack.name))
        _mend(target, cluster, stack, stuck, told)
    what = "; ".join(f"{named(event)}: {event.reason}" for event in stuck) or "no reason was given"
    raise CheckFailed(
        f"{stack.name} could not be deleted: {what}",
        "see to what is named, then run `unbroken down` again: it goes on where it stopped",
    )


def guard(target: Target, cluster: str, stack: Stack) -> None:
    """CannotRun for a stack that is not this cluster's or must not be deleted."""
    if stack.tags.get(CLUSTER_TAG) != cluster:
        raise CannotRun(
            f"the stack {stack.name} is not of this cluster: it lacks the tag {CLUSTER_TAG}={cluster}",
            "it is left alone; give the cluster another name, or remove that stack yourself",
        )
    if stack.protected:
        lift = "aws cloudformation update-termination-protection --no-enable-termination-protection"
        raise CannotRun(
            f"termination protection is on for {stack.name}",
            "set termination_protection: false and run `unbroken up`, or run "
            f"{lift} --stack-name {stack.name} --region {target.region}",
        )


def named(event: StackEvent) -> str:
    """A resource in words: what it is and which."""
    return f"{event.logical_id} ({event.resource_type} {event.physical_id})"


def keeps(template: dict[str, Any], logical_id: str) -> bool:
    """Whether the resource outlives its stack."""
    return template["Resources"].get(logical_id, {}).get("DeletionPolicy") in KEEPS


def _mend(target: Target, cluster: str, stack: Stack, stuck: Sequence[StackEvent], told: Told) -> None:
    """Do what lets the next attempt succeed: empty a bucket of ours, or give AWS time."""
    for event in stuck:
        name, s3 = event.physical_id, target.aws.s3
        if event.resource_type == BUCKET and s3.tags(name).get(CLUSTER_TAG) == cluster:
            told(f"{name}: {counted(s3.empty(name), 'object')} deleted")
    if any(event.resource_type in NETWORK for event in stuck):
        _wait_for_interfaces(target, stack, told)
    target.pace.wait()


def _forget_backups(target: Target, stack: Stack, told: Told) -> None:
    """A rollback lets FSx back up the OpenZFS file system it deletes, which never held anything."""
    if not stack.never_made:
        return
    events = target.aws.cloudformation.stack_events(stack.id)
    made = {event.physical_id for event in events if event.resource_type == FILE_SYSTEM}
    for file_system in sorted(made - {""}):
        for backup in target.aws.fsx.backups(file_system):
            target.aws.fsx.delete_backup(backup)
            told(f"{backup}, of the empty {file_system}, is deleted")


def _wait_for_interfaces(target: Target, stack: Stack, told: Told) -> None:
    """HyperPod and FSx give their interfaces back some time after; a group in use cannot be deleted."""
    groups = _groups_to_delete(target, stack)
    deadline = target.pace.deadline(INTERFACE_SECONDS)
    before = -1
    while groups and target.pace.now() < deadline:
        left = [one for one in target.aws.ec2.interfaces(groups) if one.kind not in OF_STACKS]
        if not left:
            return
        if len(left) != before:
            before = len(left)
            told(
                f"waiting for {before} network interfaces to go: {left[0].interface_id} {left[0].description}"
            )
        target.pace.wait()


def _groups_to_delete(target: Target, stack: Stack) -> list[str]:
    found = [
        r
        for r in target.aws.cloudformation.resources(stack.id or stack.name)
        if r.type_name == SECURITY_GROUP
    ]
    live = [r for r in found if r.physical_id and r.status != "DELETE_COMPLETE"]
    template = target.aws.cloudformation.template(stack.id or stack.name) if live else {}
    return [one.physical_id for one in live if not keeps(template, one.logical_id)]
