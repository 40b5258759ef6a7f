"""Which changed resources CloudFormation replaces, and which others go with them.

A resource is also replaced when a property that cannot be changed in place refers to one that is: a new
subnet means a new file system, though the file system's own text is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unbroken.catalog import replacement
from unbroken.catalog.cloudformation import KEEPS
from unbroken.ops.diff.changes import Change, Versions

Key = tuple[str, str]
_SUBSTITUTED = re.compile(r"\$\{([A-Za-z0-9]+)")


def replaced(versions: Versions, changes: Iterable[Change]) -> dict[Key, Change]:
    """The replacements by area and logical id, those that follow from others included."""
    found: dict[Key, Change] = {}
    for change in changes:
        causes = tuple(path for path in change.properties if _replaces(change.type_name, path))
        if causes:
            found[change.key] = _replacement(versions, change.key, change.type_name, causes)
    while following := dict(_following(versions, found)):
        found |= following
    return found


def _following(versions: Versions, found: Mapping[Key, Change]) -> Iterator[tuple[Key, Change]]:
    for area, name, _, body in versions.kept():
        if (area, name) in found:
            continue
        fixed = _fixed_properties(body)
        causes = tuple(key for key, value in fixed if found.keys() & references(versions, area, value))
        if causes:
            yield (area, name), _replacement(versions, (area, name), body["Type"], causes)


def _fixed_properties(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The properties that cannot be changed in place, with their values."""
    for path in sorted(_fixed(body["Type"])):
        value: Any = body.get("Properties", {})
        for step in path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is not None:
            yield path, value


def references(versions: Versions, area: str, value: Any) -> set[Key]:
    """The resources a value refers to, through other stacks' outputs too."""
    if isinstance(value, list):
        return {key for item in value for key in references(versions, area, item)}
    if not isinstance(value, Mapping):
        return set()
    if "Ref" in value:
        return {(area, value["Ref"])}
    if "Fn::GetAtt" in value:
        return _of_attribute(versions, area, value["Fn::GetAtt"])
    if "Fn::GetStackOutput" in value:
        return _of_output(versions, value["Fn::GetStackOutput"])
    if "Fn::Sub" in value:
        text = value["Fn::Sub"] if isinstance(value["Fn::Sub"], str) else value["Fn::Sub"][0]
        return {(area, name) for name in _SUBSTITUTED.findall(text)}
    return {key for item in value.values() for key in references(versions, area, item)}


def _of_attribute(versions: Versions, area: str, target: list[str] | str) -> set[Key]:
    """A parameter of Systems Manager hands on what its own value refers to."""
    name, attribute = target if isinstance(target, list) else target.split(".", 1)
    body = versions.new.get(area, {}).get("Resources", {}).get(name, {})
    handed_on = body.get("Type") == "AWS::SSM::Parameter" and attribute == "Value"
    return {(area, name)} | (references(versions, area, body["Properties"]["Value"]) if handed_on else set())


def _of_output(versions: Versions, target: Mapping[str, Any]) -> set[Key]:
    area = versions.stack_areas.get(target["StackName"], "")
    output = versions.new.get(area, {}).get("Outputs", {}).get(target["OutputName"], {})
    return references(versions, area, output.get("Value"))


def _replacement(versions: Versions, key: Key, type_name: str, causes: tuple[str, ...]) -> Change:
    """The old one stays only if both templates say so: which of the two counts is not documented."""
    area, name = key
    bodies = [templates[area]["Resources"][name] for templates in (versions.old, versions.new)]
    stays = all(body.get("UpdateReplacePolicy") in KEEPS for body in bodies)
    return Change(area, name, type_name, "replace", causes, stays)


def _replaces(type_name: str, path: str) -> bool:
    return any(
        path == fixed or path.startswith(f"{fixed}.") or fixed.startswith(f"{path}.")
        for fixed in _fixed(type_name)
    )


def _fixed(type_name: str) -> frozenset[str]:
    """None are known of CDK's custom resources: their function decides."""
    return frozenset() if type_name.startswith("Custom::") else replacement.properties(type_name)
