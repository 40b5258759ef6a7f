"""In what state the stacks are before a deployment, and getting them into one that can be deployed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unbroken.aws.cloudformation import Stack, StackEvent
from unbroken.catalog.cloudformation import HOLDS_DATA, LOG_GROUP
from unbroken.config import CLUSTER_TAG
from unbroken.ops.errors import CannotRun
from unbroken.ops.remove_stack import named, remove
from unbroken.ops.stack_progress import Follower, Told, failures, settled
from unbroken.ops.target import Target

WORTH_ASKING = HOLDS_DATA - {LOG_GROUP}
"""A log of a deployment that failed holds nothing that its failure did not say."""


def standing(target: Target, cluster: str, names: Sequence[str], told: Told) -> list[Stack]:
    """The stacks that are there, with CloudFormation at rest. CannotRun for one that cannot be deployed."""
    found = [stack for name in names if (stack := target.aws.cloudformation.stack(name))]
    for stack in found:
        if stack.busy:
            told(f"{stack.name} is {stack.status}: another deployment is at work; waiting for its end")
    at_rest = [
        settled(target, stack, Follower(target, stack, told)) if stack.busy else stack for stack in found
    ]
    there = [stack for stack in at_rest if stack]
    for stack in there:
        _check(target, cluster, stack)
    return there


def clear(target: Target, cluster: str, stacks: Sequence[Stack], told: Told) -> None:
    """Delete the stacks whose first deployment failed, so that they can be made anew."""
    for stack in stacks:
        if stack.never_made:
            told(f"{stack.name} failed to be made before ({stack.status}); it is deleted first")
            if stack.protected:  # cdk protects a stack before it is made; there is nothing to protect yet
                target.aws.cloudformation.unprotect(stack.name)
            remove(target, cluster, replace(stack, protected=False), told)
        elif stack.status == "REVIEW_IN_PROGRESS":
            told(f"{stack.name} was prepared but never made; it is made now")


def _check(target: Target, cluster: str, stack: Stack) -> None:
    if stack.status != "REVIEW_IN_PROGRESS" and stack.tags.get(CLUSTER_TAG) != cluster:
        raise CannotRun(
            f"the stack {stack.name} is not of this cluster: it lacks the tag {CLUSTER_TAG}={cluster}",
            "give the cluster another name, or remove that stack yourself",
        )
    if stack.status == "DELETE_FAILED":
        raise CannotRun(
            f"{stack.name} is half deleted (DELETE_FAILED)",
            "finish that first: `unbroken down`, then `unbroken up`",
        )
    if stack.status == "UPDATE_ROLLBACK_FAILED":
        raise _stuck_in_rollback(target, stack)
    if stack.never_made:
        _refuse_data(target, stack)


def _stuck_in_rollback(target: Target, stack: Stack) -> CannotRun:
    """An update failed, and so did going back; only the user can say what to do with the resource."""
    last = {event.logical_id: event for event in target.aws.cloudformation.stack_events(stack.id)}
    stuck = list(failures(list(last.values()), stack.name))
    what = "; ".join(f"{named(event)}: {event.reason}" for event in stuck) or stack.reason
    command = (
        f"aws cloudformation continue-update-rollback --stack-name {stack.name} --region {target.region}"
    )
    skip = f" --resources-to-skip {' '.join(event.logical_id for event in stuck)}" if stuck else ""
    return CannotRun(
        f"{stack.name} is UPDATE_ROLLBACK_FAILED: an update failed, and so did its way back: {what}",
        f"mend what is named and run `{command}`, then `unbroken up`; to give a resource up as it is: "
        f"`{command}{skip}`",
    )


def _refuse_data(target: Target, stack: Stack) -> None:
    """Deleting the stack would forget, or take along, what its failed deployment could not remove."""
    last = {event.logical_id: event for event in target.aws.cloudformation.stack_events(stack.id)}
    holding = [event for event in last.values() if _may_hold_data(event)]
    if holding:
        what = ", ".join(named(event) for event in holding)
        raise CannotRun(
            f"{stack.name} failed to be made ({stack.status}) and still holds {what}",
            f"if you need none of it, delete it, then the stack: aws cloudformation delete-stack "
            f"--stack-name {stack.name} --region {target.region}; then run `unbroken up` again",
        )


def _may_hold_data(last: StackEvent) -> bool:
    """Whether it is there: skipped or failed when the rollback came to it, or never come to."""
    gone = last.status in ("DELETE_COMPLETE", "CREATE_FAILED") or not last.physical_id
    return last.resource_type in WORTH_ASKING and not gone
