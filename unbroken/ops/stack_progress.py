"""CloudFormation stacks of one cluster: whose they are, waiting for one, and following what happens in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unbroken.aws import Aws
from unbroken.aws.cloudformation import Stack, StackEvent
from unbroken.config import CLUSTER_TAG
from unbroken.ops.target import Target

Told = Callable[[str], None]

_DOING = {"CREATE": "creating", "UPDATE": "updating", "DELETE": "deleting", "ROLLBACK": "rolling back"}
_DONE = {"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted", "ROLLBACK": "rolled back"}
_CANCELLED = ("creation cancelled", "update cancelled", "deletion cancelled")


def own(aws: Aws, cluster: str) -> list[Stack]:
    """The stacks that carry the cluster's tag, whatever their names."""
    return [stack for stack in aws.cloudformation.stacks() if stack.tags.get(CLUSTER_TAG) == cluster]


def settled(target: Target, stack: Stack, follower: Follower) -> Stack | None:
    """Wait until CloudFormation no longer works on the stack; None where it is gone then."""
    while True:
        now = target.aws.cloudformation.stack(stack.id or stack.name)
        follower.look()
        if now is None or now.status == "DELETE_COMPLETE":
            return None
        if not now.busy:
            return now
        target.pace.wait()


class Follower:
    """Tells what happens in a stack, from where it stands when this is made."""

    def __init__(self, target: Target, stack: Stack | None, told: Told, name: str = "") -> None:
        """``name`` is that of a stack that is not there yet."""
        self._target, self._told = target, told
        self.name = stack.name if stack else name
        self._asked = (stack.id or stack.name) if stack else name
        self.seen: list[StackEvent] = []
        """What happened since, oldest first."""
        self._last = target.aws.cloudformation.newest_event(self._asked)

    def look(self) -> None:
        """Tell what is new."""
        fresh = self._target.aws.cloudformation.stack_events(self._asked, after=self._last)
        last = {event.logical_id: event.id for event in fresh}
        for event in fresh:
            self._last = event.id
            self.seen.append(event)
            words = told_of(event, self.name)
            if words and (failed(event) or last[event.logical_id] == event.id):
                self._told(words)


def told_of(event: StackEvent, stack: str) -> str:
    """An event in a few words; empty for one that says nothing new."""
    if event.logical_id == stack or event.reason.endswith("Initiated"):
        return ""
    verb, _, state = event.status.partition("_")
    words = {"IN_PROGRESS": _DOING, "COMPLETE": _DONE}.get(state, {}).get(verb)
    if failed(event):
        words = f"FAILED: {event.reason}"
    return f"{stack}: {event.logical_id} ({event.resource_type}) {words}" if words else ""


def failed(event: StackEvent) -> bool:
    """Whether the event is a failure of its own, not the end of others for another's sake."""
    cancelled = any(words in event.reason for words in _CANCELLED)
    return event.status.endswith("_FAILED") and not cancelled


def failures(events: list[StackEvent], stack: str) -> Iterator[StackEvent]:
    """The resources that failed by themselves, in the order in which they did."""
    return (event for event in events if failed(event) and event.logical_id != stack)
