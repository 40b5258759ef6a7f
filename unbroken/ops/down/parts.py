"""What there is of a cluster to take down: its stacks, in the order in which they can go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unbroken.aws.cloudformation import Stack, StackResource
from unbroken.ops.remove_stack import keeps
from unbroken.ops.stack_progress import own
from unbroken.ops.target import Target

ORDER = ("cluster", "storage", "budget", "observability", "identity", "network", "encryption")
"""Nodes before the file system they have mounted, interfaces before the network, the key last."""


@dataclass(frozen=True)
class Part:
    """One stack and what is in it."""

    stack: Stack
    resources: tuple[StackResource, ...]
    """Those that exist."""
    template: dict[str, Any]

    @property
    def area(self) -> str:
        """What the stack is about."""
        return self.stack.name.rpartition("-")[2]

    def kept(self) -> list[StackResource]:
        """What outlives the stack."""
        return [one for one in self.resources if keeps(self.template, one.logical_id)]

    def deleted(self, type_name: str) -> list[StackResource]:
        """The resources of a type that go with the stack."""
        same = (one for one in self.resources if one.type_name == type_name)
        return [one for one in same if not keeps(self.template, one.logical_id)]


def parts(target: Target, cluster: str) -> list[Part]:
    """The cluster's stacks, the first to go first."""
    found = [_part(target, stack) for stack in own(target.aws, cluster)]
    return sorted(found, key=lambda part: (_place(part.area), part.stack.name))


def _part(target: Target, stack: Stack) -> Part:
    asked = stack.id or stack.name
    resources = target.aws.cloudformation.resources(asked)
    there = tuple(one for one in resources if one.physical_id and one.status != "DELETE_COMPLETE")
    return Part(stack, there, target.aws.cloudformation.template(asked))


def _place(area: str) -> float:
    """A stack of an area this version does not know goes just before the network."""
    return ORDER.index(area if area in ORDER else "network") - (area not in ORDER) / 2
