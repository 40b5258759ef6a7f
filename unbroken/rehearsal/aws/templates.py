"""Refuses a template whose resources CloudFormation would refuse, before anything is created.

ministack looks at resource types only; the properties are checked here against the CloudFormation schema,
with cfn-lint's rules, in the region of the rehearsal. Findings below an error are left alone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import cfnlint.api
import ministack.services.cloudformation.changesets as changesets
import ministack.services.cloudformation.handlers as cloudformation
from cfnlint.rules import Match

from unbroken.rehearsal.aws.deployment import REPLAYED

logger = logging.getLogger("unbroken.templates")

Template = Mapping[str, Any]


def install(region: str) -> None:
    """Check every template that a stack or a change set is made from."""
    for module in (cloudformation, changesets):
        module.validate_template_support = _checking(module.validate_template_support, region)


def _checking(original: Callable[..., None], region: str) -> Callable[..., None]:
    def validate(
        template: Template, conditions: dict[str, bool], params: dict[str, Any] | None = None
    ) -> None:
        original(template, conditions, params=params)
        found = problems(template, region)
        if found:
            for problem in found:
                logger.warning("template refused: %s", problem)
            raise ValueError("Template validation failed: " + " | ".join(found))

    return validate


def problems(template: Template, region: str) -> list[str]:
    """What is wrong with it, one line each, naming the resource and the property."""
    return [*_custom_resources(template), *_schema(template, region)]


def _custom_resources(template: Template) -> list[str]:
    """No Lambda function runs here, so a custom resource that nobody replays could never answer."""
    replayed = " and ".join(REPLAYED)
    return [
        f"{name}: {kind} needs a Lambda function, and the embedded AWS runs none; it replays {replayed}"
        for name, kind in _types(template)
        if kind == "AWS::CloudFormation::CustomResource"
        or (kind.startswith("Custom::") and kind not in REPLAYED)
    ]


def _types(template: Template) -> Iterable[tuple[str, str]]:
    return ((name, str(resource.get("Type", ""))) for name, resource in template.get("Resources", {}).items())


def _schema(template: Template, region: str) -> list[str]:
    matches = cfnlint.api.lint(json.dumps(template), regions=[region])
    return [_line(match) for match in matches if match.rule.id.startswith("E")]


def _line(match: Match) -> str:
    path = [str(part) for part in match.path or ()]
    return f"{'/'.join(path[1:] or path)}: {match.message} ({match.rule.id})"
