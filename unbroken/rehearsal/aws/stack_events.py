"""A stack's events as CloudFormation tells them, where ministack's differ.

In an update ministack reports every resource as updated. CloudFormation is silent about those that did not
change, calls a new one created, and tells what it deletes when it cleans up (user guide, "Monitor stack
progress"). The failure of a create names the resource that failed. A deleted stack is known by its id only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ministack.services.cloudformation as cloudformation
import ministack.services.cloudformation.handlers as handlers
import ministack.services.cloudformation.stacks as stacks

STACK = "AWS::CloudFormation::Stack"
CLEANUP = "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"

Add = Callable[..., None]


def _only_of_known_stacks(params: Mapping[str, Any]) -> Any:
    """DescribeStackEvents, in which a name means a stack that is still there."""
    name = handlers._p(params, "StackName")
    stack = handlers._resolve_stack(name)
    if stack is not None and stack["StackName"] == name and stack["StackStatus"] == "DELETE_COMPLETE":
        return handlers._error("ValidationError", f"Stack [{name}] does not exist")
    return handlers._describe_stack_events(params)


class StackEvents:
    """Stands between ministack's stacks and its record of events. One operation runs on a stack at a time."""

    def __init__(self) -> None:
        self._add: Add = stacks._add_event
        self._held: dict[tuple[str, str], tuple[str, str]] = {}
        """Updates that have begun and touched nothing yet: stack id and type, by stack and logical id."""
        self._new: set[tuple[str, str]] = set()
        """Resources that an update makes."""
        self._failed: dict[str, list[str]] = {}
        """Resources whose creation failed, by the stack's id."""

    def install(self) -> None:
        """Listen to ministack's events and to what it does to resources."""
        create, update, delete = stacks._provision_resource, stacks._update_resource, stacks._delete_resource
        stacks._add_event = self.add
        handlers._ACTION_HANDLERS["DescribeStackEvents"] = _only_of_known_stacks

        def telling_create(kind: str, logical_id: str, properties: Any, stack_name: str) -> Any:
            self._begin_create(stack_name, logical_id)
            return create(kind, logical_id, properties, stack_name)

        def telling_update(
            kind: str, physical_id: str, old: Any, new: Any, stack_name: str, logical_id: str, *more: Any
        ) -> Any:
            if old != new:
                self._begin_update(stack_name, logical_id, physical_id)
            return update(kind, physical_id, old, new, stack_name, logical_id, *more)

        stacks._provision_resource = telling_create
        stacks._update_resource = telling_update
        stacks._delete_resource = self._telling_delete(delete)

    def _telling_delete(self, delete: Callable[..., Any]) -> Callable[..., Any]:
        def telling(kind: str, physical_id: str, properties: Any, stack_name: str, logical_id: str) -> Any:
            stack_id = self._cleaned_up(stack_name)
            if not stack_id:
                return delete(kind, physical_id, properties, stack_name, logical_id)
            about = (stack_id, stack_name, logical_id, kind)
            self._add(*about, "DELETE_IN_PROGRESS", physical_id=physical_id)
            delete(kind, physical_id, properties, stack_name, logical_id)
            return self._add(*about, "DELETE_COMPLETE", physical_id=physical_id)

        return telling

    def add(
        self, stack_id: str, stack_name: str, logical_id: str, kind: str, status: str,
        reason: str = "", physical_id: str = "", detailed_status: str = "",
    ) -> None:  # fmt: skip
        """Record an event, or hold it back, or record what CloudFormation would say instead."""
        key = (stack_name, logical_id)
        if kind == STACK and logical_id == stack_name:
            reason = self._reason(stack_id, status, reason)
        elif status == "UPDATE_IN_PROGRESS" and not reason and not physical_id:
            self._held[key] = (stack_id, kind)
            return
        elif status == "UPDATE_IN_PROGRESS":
            self._held.pop(key, None)
        elif status.startswith("UPDATE_") and key in self._held:
            del self._held[key]
            if status == "UPDATE_COMPLETE":
                return
        elif status.startswith("UPDATE_") and key in self._new:
            self._new.discard(key)
            status = status.replace("UPDATE_", "CREATE_")
        if status == "CREATE_FAILED":
            self._failed.setdefault(stack_id, []).append(logical_id)
        self._add(stack_id, stack_name, logical_id, kind, status, reason, physical_id, detailed_status)

    def _reason(self, stack_id: str, status: str, reason: str) -> str:
        failed = self._failed.pop(stack_id, []) if status == "ROLLBACK_IN_PROGRESS" else []
        if reason != "Rollback requested" or not failed:
            return reason
        named = ", ".join(failed)
        return f"The following resource(s) failed to create: [{named}]. Rollback requested by user."

    def _begin_create(self, stack_name: str, logical_id: str) -> None:
        """A resource made in an update."""
        held = self._held.pop((stack_name, logical_id), None)
        if held is not None:
            self._new.add((stack_name, logical_id))
            self._add(held[0], stack_name, logical_id, held[1], "CREATE_IN_PROGRESS")

    def _begin_update(self, stack_name: str, logical_id: str, physical_id: str) -> None:
        held = self._held.pop((stack_name, logical_id), None)
        if held is not None:
            stack_id, kind = held
            self._add(stack_id, stack_name, logical_id, kind, "UPDATE_IN_PROGRESS", physical_id=physical_id)

    def _cleaned_up(self, stack_name: str) -> str:
        """The id of the stack whose update is over but for what it no longer needs; empty otherwise."""
        stack = cloudformation._stacks.get(stack_name) or {}
        stack_id = str(stack.get("StackId", ""))
        if stack.get("StackStatus") == "UPDATE_IN_PROGRESS":
            stack["StackStatus"] = CLEANUP
            self._add(stack_id, stack_name, stack_name, STACK, CLEANUP, physical_id=stack_id)
        return stack_id if stack.get("StackStatus") == CLEANUP else ""
