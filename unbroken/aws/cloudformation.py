"""CloudFormation stacks and their events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from unbroken.aws.session import AwsError, Session


@dataclass(frozen=True)
class Stack:
    """A CloudFormation stack."""

    name: str
    status: str
    reason: str
    outputs: Mapping[str, str]


@dataclass(frozen=True)
class StackEvent:
    """One event of a stack."""

    time: datetime
    logical_id: str
    resource_type: str
    status: str
    reason: str


class CloudFormation:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def stack(self, name: str) -> Stack | None:
        """The stack, or None where there is none or it is deleted."""
        try:
            found = self._session.ask("cloudformation", "describe_stacks", f"stack {name}", StackName=name)
        except AwsError as error:
            if error.is_("ValidationError", "does not exist"):
                return None
            raise
        return _stack(found["Stacks"][0])

    def stack_events(self, name: str) -> list[StackEvent]:
        """The stack's events, oldest first; none for a stack that does not exist."""
        try:
            found = self._session.ask_all(
                "cloudformation", "describe_stack_events", "StackEvents", f"stack {name}", StackName=name
            )
        except AwsError as error:
            if error.is_("ValidationError", "does not exist"):
                return []
            raise
        return [_stack_event(event) for event in reversed(found)]


def _stack(found: Mapping[str, Any]) -> Stack:
    outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}
    return Stack(found["StackName"], found["StackStatus"], found.get("StackStatusReason", ""), outputs)


def _stack_event(event: Mapping[str, Any]) -> StackEvent:
    return StackEvent(
        time=event["Timestamp"],
        logical_id=event["LogicalResourceId"],
        resource_type=event["ResourceType"],
        status=event["ResourceStatus"],
        reason=event.get("ResourceStatusReason", ""),
    )
