"""A synthesized template, read for facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PSEUDO = {"AWS::Partition": "partition", "AWS::AccountId": "account", "AWS::Region": "region"}


@dataclass(frozen=True)
class Resource:
    """One resource of a template."""

    area: str
    logical_id: str
    type_name: str
    properties: Mapping[str, Any]
    body: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.logical_id} ({self.area})"


@dataclass(frozen=True)
class Template:
    """The template of one stack."""

    area: str
    stack_name: str
    document: Mapping[str, Any]
    path: Path

    def resources(self, *types: str) -> Iterator[Resource]:
        """Its resources, of the given types or all."""
        for logical_id, body in self.document.get("Resources", {}).items():
            if not types or body["Type"] in types:
                yield Resource(self.area, logical_id, body["Type"], body.get("Properties", {}), body)


def all_resources(templates: Mapping[str, Template], *types: str) -> list[Resource]:
    """The resources of all templates, of the given types or all."""
    return [resource for template in templates.values() for resource in template.resources(*types)]


@dataclass(frozen=True)
class Place:
    """What the pseudo parameters stand for."""

    account: str
    region: str
    partition: str = "aws"


def resolved(value: Any, place: Place) -> str | None:
    """The text that a value becomes when the stack is made; None where only CloudFormation knows it."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        return None
    [(function, argument)] = value.items()
    if function == "Ref":
        return getattr(place, _PSEUDO[argument]) if argument in _PSEUDO else None
    if function == "Fn::Join":
        return _joined(argument, place)
    if function == "Fn::Sub" and isinstance(argument, str):
        return _substituted(argument, place)
    return None


def _joined(argument: Any, place: Place) -> str | None:
    separator, parts = argument
    texts = [resolved(part, place) for part in parts]
    known = [text for text in texts if text is not None]
    return separator.join(known) if len(known) == len(texts) else None


def _substituted(text: str, place: Place) -> str | None:
    for name, field in _PSEUDO.items():
        text = text.replace(f"${{{name}}}", getattr(place, field))
    return None if "${" in text else text


def followed(value: Any, area: str, templates: Mapping[str, Template]) -> tuple[str, str] | None:
    """Area and logical id of what a reference leads to, also across stacks; None for anything else.

    A parameter of Systems Manager that hands a value on is passed through.
    """
    if not isinstance(value, dict) or len(value) != 1:
        return None
    [(function, argument)] = value.items()
    if function == "Fn::GetStackOutput":
        return _through_output(argument, templates)
    if function not in ("Ref", "Fn::GetAtt"):
        return None
    name = argument if isinstance(argument, str) else argument[0]
    return _through_parameter(name.partition(".")[0], area, templates)


def _through_parameter(name: str, area: str, templates: Mapping[str, Template]) -> tuple[str, str] | None:
    body = templates[area].document.get("Resources", {}).get(name)
    if body is None:
        return None
    if body["Type"] == "AWS::SSM::Parameter":
        return followed(body["Properties"]["Value"], area, templates)
    return area, name


def _through_output(argument: Mapping[str, Any], templates: Mapping[str, Template]) -> tuple[str, str] | None:
    for area, template in templates.items():
        outputs = template.document.get("Outputs", {})
        if template.stack_name == argument["StackName"] and argument["OutputName"] in outputs:
            return followed(outputs[argument["OutputName"]]["Value"], area, templates)
    return None
