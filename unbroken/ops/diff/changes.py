"""What differs between the deployed templates and the new ones, resource by resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from unbroken.catalog.cloudformation import KEEPS

Template = Mapping[str, Any]
Templates = Mapping[str, Template]
"""Templates by area: network, storage, identity, cluster, ..."""


@dataclass(frozen=True)
class Change:
    """One resource that a deployment would make, remove, change or replace."""

    area: str
    logical_id: str
    type_name: str
    action: Literal["add", "remove", "change", "replace"]
    properties: tuple[str, ...] = ()
    """Dotted paths of what differs; for a replacement, what causes it."""
    old_stays: bool = False
    """Whether CloudFormation leaves the removed or replaced resource where it is."""

    @property
    def key(self) -> tuple[str, str]:
        """Area and logical id."""
        return self.area, self.logical_id


@dataclass(frozen=True)
class Versions:
    """The deployed templates and the new ones."""

    old: Templates
    new: Templates
    stack_areas: Mapping[str, str] = field(default_factory=dict)
    """Area by stack name, to follow references from stack to stack."""

    def kept(self) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
        """Area, logical id, old and new body of every resource that is in both under one type."""
        for area, template in self.new.items():
            old = _resources(self.old.get(area))
            for name, body in _resources(template).items():
                if name in old and old[name]["Type"] == body["Type"]:
                    yield area, name, old[name], body


def added(versions: Versions) -> Iterator[Change]:
    """Resources that are new, or that take another's logical id with another type."""
    for area, template in versions.new.items():
        old = _resources(versions.old.get(area))
        for name, body in _resources(template).items():
            if name not in old or old[name]["Type"] != body["Type"]:
                yield Change(area, name, body["Type"], "add")


def removed(versions: Versions) -> Iterator[Change]:
    """Resources of updated stacks that the new templates no longer hold."""
    for area, template in versions.old.items():
        if area not in versions.new:
            continue  # cdk deploy leaves such a stack alone
        new = _resources(versions.new[area])
        for name, body in _resources(template).items():
            if name not in new or new[name]["Type"] != body["Type"]:
                stays = body.get("DeletionPolicy") in KEEPS
                yield Change(area, name, body["Type"], "remove", old_stays=stays)


def changed(versions: Versions) -> Iterator[Change]:
    """Resources whose properties differ; whether they are replaced is for replacement.py to say."""
    for area, name, old, new in versions.kept():
        paths = tuple(differing(old.get("Properties", {}), new.get("Properties", {})))
        if paths:
            yield Change(area, name, new["Type"], "change", paths)


def differing(old: Any, new: Any, prefix: str = "") -> Iterator[str]:
    """Dotted paths at which two values differ; a list differs as a whole."""
    if isinstance(old, Mapping) and isinstance(new, Mapping) and not (_intrinsic(old) or _intrinsic(new)):
        for key in sorted({*old, *new}):
            yield from differing(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else key)
    elif old != new:
        yield prefix


def _intrinsic(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Fn::", "Ref"))


def _resources(template: Template | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (template or {}).get("Resources", {})
    return found
