"""CloudFormation stacks and their events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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
    id: str = ""
    """Its ARN, by which a deleted stack can still be asked about."""
    tags: Mapping[str, str] = field(default_factory=dict)
    protected: bool = False
    """Whether CloudFormation refuses to delete it (termination protection)."""

    @property
    def busy(self) -> bool:
        """Whether CloudFormation works on it now."""
        return self.status.endswith("_IN_PROGRESS") and self.status != "REVIEW_IN_PROGRESS"

    @property
    def empty(self) -> bool:
        """Whether it holds no resources of a deployment."""
        return self.status in ("REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE", "DELETE_COMPLETE")

    @property
    def never_made(self) -> bool:
        """Whether its first deployment failed; CloudFormation can only delete it then."""
        return self.status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED")


@dataclass(frozen=True)
class StackEvent:
    """One event of a stack."""

    time: datetime
    logical_id: str
    resource_type: str
    status: str
    reason: str
    id: str = ""
    physical_id: str = ""
    """Empty before the resource exists."""


@dataclass(frozen=True)
class StackResource:
    """A resource of a stack, as ListStackResources tells of it."""

    logical_id: str
    physical_id: str
    """Empty before it exists."""
    type_name: str
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

    def stacks(self) -> list[Stack]:
        """Every stack of the region that is not deleted."""
        found = self._session.ask_all("cloudformation", "describe_stacks", "Stacks", "all stacks")
        return [_stack(one) for one in found]

    def stack_events(self, name: str, after: str = "") -> list[StackEvent]:
        """The stack's events, oldest first; those since the event of the id ``after``, where one is given.

        Empty for a stack that does not exist; a deleted one is asked about by its id.
        """
        found: list[StackEvent] = []
        for event in self._events(name):
            if event.id == after:
                break
            found.append(event)
        return found[::-1]

    def newest_event(self, name: str) -> str:
        """The id of the stack's newest event; empty where there is none."""
        return next((event.id for event in self._events(name)), "")

    def _events(self, name: str) -> Iterator[StackEvent]:
        """Newest first, a page at a time."""
        try:
            pages = self._session.pages(
                "cloudformation", "describe_stack_events", "StackEvents", f"stack {name}", StackName=name
            )
            yield from (_stack_event(event) for event in pages)
        except AwsError as error:
            if not error.is_("ValidationError", "does not exist"):
                raise

    def resources(self, name: str) -> list[StackResource]:
        """The stack's resources, gone ones included; none for a stack that does not exist."""
        found = self._of_stack("list_stack_resources", "StackResourceSummaries", name)
        return [_resource(one) for one in found]

    def template(self, name: str) -> dict[str, Any]:
        """The template with which the stack was last deployed."""
        found = self._session.ask("cloudformation", "get_template", f"stack {name}", StackName=name)
        body = found["TemplateBody"]
        content: dict[str, Any] = json.loads(body) if isinstance(body, str) else dict(body)
        return content

    def delete(self, name: str) -> None:
        """Ask for the stack's end; CloudFormation goes on by itself."""
        self._session.ask("cloudformation", "delete_stack", f"stack {name}", StackName=name)

    def unprotect(self, name: str) -> None:
        """Let the stack be deleted again (termination protection off)."""
        self._session.ask(
            "cloudformation",
            "update_termination_protection",
            f"stack {name}",
            StackName=name,
            EnableTerminationProtection=False,
        )

    def _of_stack(self, operation: str, member: str, name: str) -> list[dict[str, Any]]:
        """A list about one stack; empty for a stack that does not exist."""
        try:
            return self._session.ask_all("cloudformation", operation, member, f"stack {name}", StackName=name)
        except AwsError as error:
            if error.is_("ValidationError", "does not exist"):
                return []
            raise


def _stack(found: Mapping[str, Any]) -> Stack:
    outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}
    return Stack(
        name=found["StackName"],
        status=found["StackStatus"],
        reason=found.get("StackStatusReason", ""),
        outputs=outputs,
        id=found.get("StackId", ""),
        tags={tag["Key"]: tag["Value"] for tag in found.get("Tags", ())},
        protected=bool(found.get("EnableTerminationProtection", False)),
    )


def _resource(found: Mapping[str, Any]) -> StackResource:
    return StackResource(
        logical_id=found["LogicalResourceId"],
        physical_id=found.get("PhysicalResourceId", ""),
        type_name=found["ResourceType"],
        status=found["ResourceStatus"],
        reason=found.get("ResourceStatusReason", ""),
    )


def _stack_event(event: Mapping[str, Any]) -> StackEvent:
    return StackEvent(
        time=event["Timestamp"],
        logical_id=event["LogicalResourceId"],
        resource_type=event["ResourceType"],
        status=event["ResourceStatus"],
        reason=event.get("ResourceStatusReason", ""),
        id=event.get("EventId", ""),
        physical_id=event.get("PhysicalResourceId", ""),
    )
