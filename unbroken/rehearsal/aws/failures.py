"""Resources that fail on purpose: a setting of the embedded AWS, for tests and for practice.

A failure strikes in CloudFormation, before the service is asked: nothing is made, changed or deleted. What
it looks like in the stack's events is what a failing resource handler looks like on AWS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import ministack.services.cloudformation.stacks as stacks

from unbroken.rehearsal.aws.handlers import ResourceError

Verb = Literal["create", "update", "delete"]


@dataclass(frozen=True)
class Failure:
    """One failure to come. Empty selections match everything; all that are given must match."""

    at: Verb
    message: str
    logical_id: str = ""
    type_name: str = ""
    stack_name: str = ""
    always: bool = False
    """Every time until it is cleared, rollbacks included; else the first time only."""

    def strikes(self, verb: Verb, type_name: str, logical_id: str, stack_name: str) -> bool:
        """Whether this operation on this resource is meant."""
        asked = (
            (self.logical_id, logical_id),
            (self.type_name, type_name),
            (self.stack_name, stack_name),
        )
        return self.at == verb and all(not wanted or wanted == found for wanted, found in asked)

    @property
    def reason(self) -> str:
        """The stack event's reason, in the form CloudFormation gives a handler's error."""
        return (
            f'Resource handler returned message: "{self.message}" (HandlerErrorCode: GeneralServiceException)'
        )


class Failures:
    """The failures to come. Thread-safe."""

    def __init__(self) -> None:
        self._coming: list[Failure] = []
        self._lock = Lock()

    def add(self, failure: Failure) -> None:
        """Have the resource fail."""
        with self._lock:
            self._coming.append(failure)

    def clear(self) -> list[Failure]:
        """Let everything succeed again; returns the failures that had not struck, or strike always."""
        with self._lock:
            left, self._coming = self._coming, []
        return left

    def strike(self, verb: Verb, type_name: str, logical_id: str, stack_name: str) -> None:
        """Raise ResourceError where a failure is set for this operation."""
        with self._lock:
            meant = (f for f in self._coming if f.strikes(verb, type_name, logical_id, stack_name))
            found = next(meant, None)
            if found is not None and not found.always:
                self._coming.remove(found)
        if found is not None:
            raise ResourceError(found.reason)

    def install(self) -> None:
        """Put the failures in front of the three ways in which ministack's stacks touch a resource."""
        create, update, delete = stacks._provision_resource, stacks._update_resource, stacks._delete_resource

        def failing_create(type_name: str, logical_id: str, properties: Any, stack_name: str) -> Any:
            self.strike("create", type_name, logical_id, stack_name)
            return create(type_name, logical_id, properties, stack_name)

        def failing_update(
            type_name: str, physical_id: str, old: Any, new: Any, stack_name: str, logical_id: str, *more: Any
        ) -> Any:
            if old != new:  # CloudFormation does not touch what did not change
                self.strike("update", type_name, logical_id, stack_name)
            return update(type_name, physical_id, old, new, stack_name, logical_id, *more)

        def failing_delete(
            type_name: str, physical_id: str, properties: Any, stack_name: str, logical_id: str
        ) -> Any:
            self.strike("delete", type_name, logical_id, stack_name)
            return delete(type_name, physical_id, properties, stack_name, logical_id)

        _replace(failing_create, failing_update, failing_delete)


def _replace(create: Callable[..., Any], update: Callable[..., Any], delete: Callable[..., Any]) -> None:
    stacks._provision_resource = create
    stacks._update_resource = update
    stacks._delete_resource = delete
