"""Stand-ins for values that only a deployment knows: the same wherever the same resource is referred to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from unbroken.checks.template.model import Place, Template, followed, resolved

_IDS = {"AWS::EC2::Subnet": "subnet", "AWS::EC2::SecurityGroup": "sg", "AWS::EC2::VPC": "vpc"}
_ARNS = {"AWS::KMS::Key": "arn:{partition}:kms:{region}:{account}:key/{digest}"}


def stand_in(value: Any, area: str, templates: Mapping[str, Template], place: Place) -> str:
    """The text that a value becomes; ids of resources that do not exist yet are made up."""
    text = resolved(value, place)
    if text is not None:
        return text
    if isinstance(value, dict) and "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return str(separator.join(stand_in(part, area, templates, place) for part in parts))
    further = _passed_on(value, area, templates)
    if further is not None:
        return stand_in(*further, templates, place)
    target = followed(value, area, templates)
    return _made_up(target, templates, place) if target else _digest(json.dumps(value, sort_keys=True))


def _passed_on(value: Any, area: str, templates: Mapping[str, Template]) -> tuple[Any, str] | None:
    """What a stack's output or a parameter of Systems Manager hands on, and the template it stands in."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    [(function, argument)] = value.items()
    if function == "Fn::GetStackOutput":
        return _output(argument, templates)
    name = argument[0] if isinstance(argument, list) else argument
    body = templates[area].document.get("Resources", {}).get(name, {})
    return (body["Properties"]["Value"], area) if body.get("Type") == "AWS::SSM::Parameter" else None


def _output(argument: Mapping[str, Any], templates: Mapping[str, Template]) -> tuple[Any, str] | None:
    for area, template in templates.items():
        outputs = template.document.get("Outputs", {})
        if template.stack_name == argument["StackName"] and argument["OutputName"] in outputs:
            return outputs[argument["OutputName"]]["Value"], area
    return None


def with_stand_ins(value: Any, area: str, templates: Mapping[str, Template], place: Place) -> Any:
    """A document with every reference in it replaced."""
    if isinstance(value, list):
        return [with_stand_ins(one, area, templates, place) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::")):
        return stand_in(value, area, templates, place)
    return {key: with_stand_ins(one, area, templates, place) for key, one in value.items()}


def _made_up(target: tuple[str, str], templates: Mapping[str, Template], place: Place) -> str:
    area, name = target
    kind, digest = templates[area].document["Resources"][name]["Type"], _digest(f"{area}/{name}")
    if kind in _ARNS:
        return _ARNS[kind].format(**vars(place), digest=digest)
    return f"{_IDS.get(kind, 'later')}-{digest}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:17]
