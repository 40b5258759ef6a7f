"""Why a deployment failed: the first resource that failed by itself, and what the failed node said."""

from __future__ import annotations

from unbroken.aws import Aws, AwsError
from unbroken.aws.cloudformation import StackEvent
from unbroken.catalog.cloudformation import CLUSTER
from unbroken.ops.stack_progress import failures
from unbroken.ops.stages import StageFailed
from unbroken.ops.up.lifecycle import SUCCEEDED
from unbroken.ops.up.watch import Watch

UNDONE = ("UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
"""States of a stack whose update has been taken back."""


def cause(watch: Watch, aws: Aws, cdk: StageFailed) -> StageFailed:
    """The failure in AWS's words and the nodes'; what cdk said where AWS tells of no failed resource."""
    try:
        stack, event = _first_failure(watch)
        hint = _what_now(aws, stack)
    except AwsError as error:
        cdk.hint = f"{cdk.hint}; AWS could not be asked for more: {error}"
        return cdk
    if event is None:
        return cdk
    message = f"{stack}: {event.logical_id} ({event.resource_type}) failed: {event.reason}"
    if event.resource_type == CLUSTER:
        return _of_cluster(watch, message, hint)
    return StageFailed(message, hint)


def _first_failure(watch: Watch) -> tuple[str, StackEvent | None]:
    """The stack and the event; no event where no resource failed by itself."""
    found = []
    for follower in watch.followers:
        follower.look()
        found += [(event.time, follower.name, event) for event in failures(follower.seen, follower.name)]
    _, stack, event = min(found, default=(None, "", None), key=lambda one: one[0])
    return stack, event


def _of_cluster(watch: Watch, message: str, hint: str) -> StageFailed:
    """A cluster fails for its nodes' sake; the service's own message leaves out what went wrong there."""
    events = [event for one in watch.followers for event in one.seen if event.resource_type == CLUSTER]
    watch.lifecycle.begin(events[0].time)
    watch.lifecycle.read()
    node, said = _first_node(watch)
    if not node:
        return StageFailed(message, hint)
    tail = "\n".join(dict.fromkeys(watch.lifecycle.tails.get(node, ())))
    return StageFailed(f"{message}\n{node}: {said}", hint, tail or None)


def _first_node(watch: Watch) -> tuple[str, str]:
    """The node to blame and its own words; empty where no node said anything."""
    log = watch.lifecycle
    for node, step in log.failed.items():
        return node, step
    unfinished = [node for node, lines in log.tails.items() if not any(SUCCEEDED in line for line in lines)]
    for node in (*watch.failed_nodes, *unfinished):
        lines = [line for line in log.tails.get(node, ()) if line.strip()]
        return node, lines[-1] if lines else watch.failed_nodes[node]
    return "", ""


def _what_now(aws: Aws, name: str) -> str:
    stack = aws.cloudformation.stack(name) if name else None
    state = f"{name} is {stack.status}" if stack else f"{name} is gone"
    again = "mend the cause, then run `unbroken up` again"
    if stack and not stack.never_made:
        return f"{state}: it is as it was before; {again}" if stack.status in UNDONE else f"{state}; {again}"
    return f"{state}; {again}, which first removes what the failed deployment left"
