"""Refuses a template whose resources CloudFormation would refuse, before anything is created.

ministack looks at resource types only; the properties are checked here against the CloudFormation schema,
with cfn-lint's rules, in the region of the rehearsal. Findings below an error are left alone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ministack.services.cloudformation.changesets as changesets
import ministack.services.cloudformation.handlers as cloudformation
from cfnlint.config import ConfigMixIn
from cfnlint.decode.decode import decode_str
from cfnlint.rules import Match
from cfnlint.runner import Runner, run_template_by_data

from unbroken.rehearsal.aws.deployment import REPLAYED

logger = logging.getLogger("unbroken.templates")

Template = Mapping[str, Any]


def install(region: str) -> None:
    """Check every template that a stack or a change set is made from."""
    checker = Checker(region)
    for module in (cloudformation, changesets):
        module.validate_template_support = _checking(module.validate_template_support, checker)


def _checking(original: Callable[..., None], checker: Checker) -> Callable[..., None]:
    def validate(
        template: Template, conditions: dict[str, bool], params: dict[str, Any] | None = None
    ) -> None:
        original(template, conditions, params=params)
        found = checker.problems(template)
        if found:
            for problem in found:
                logger.warning("template refused: %s", problem)
            raise ValueError("Template validation failed: " + " | ".join(found))

    return validate


class Checker:
    """Finds problems; cfn-lint's rules are loaded once, which takes longer than using them."""

    def __init__(self, region: str) -> None:
        logging.getLogger("cfnlint").setLevel(logging.WARNING)
        self._config = ConfigMixIn(regions=[region])
        self._rules = Runner(self._config).rules
        self._known: dict[str, list[str]] = {}
        """Findings by a template's text: deployments, and tests, come back with the same one."""

    def problems(self, template: Template) -> list[str]:
        """What is wrong with it, one line each, naming the resource and the property."""
        return [*_custom_resources(template), *self._schema(template)]

    def _schema(self, template: Template) -> list[str]:
        text = json.dumps(template)
        if text not in self._known:
            decoded, failures = decode_str(text)
            matches = failures or run_template_by_data(decoded, self._config, self._rules)
            self._known[text] = [_line(match) for match in matches if match.rule.id.startswith("E")]
        return self._known[text]


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


def _line(match: Match) -> str:
    path = [str(part) for part in match.path or ()]
    return f"{'/'.join(path[1:] or path)}: {match.message} ({match.rule.id})"
