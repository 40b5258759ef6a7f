"""Rights by resource and action in the templates' policies, wherever AWS takes one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unbroken.checks.result import Outcome, failed, listed, passed, unknown
from unbroken.checks.subject import Subject
from unbroken.checks.template.base import CHANGED, TemplateCheck, policies, statements, words

_NO_DATASET = "metrics of AWS's services are in no dataset, the only resource it takes"
EXPLAINED = {
    "ec2:DetachNetworkInterface": "the instance belongs to the service's account, so it has no ARN of ours",
    "cloudwatch:GetMetricData": _NO_DATASET,
    "cloudwatch:ListMetrics": _NO_DATASET,
}
"""Actions that stay on every resource, and why."""
INSTALL = "run `make setup`, which installs cfn-lint"


class TemplateWildcardActions(TemplateCheck):
    """``s3:*`` is what a reviewer sends back first."""

    id = "template-wildcard-actions"
    asks = "no policy allows an action with a wildcard in it"

    def run(self, subject: Subject) -> Outcome:
        """Every statement of every identity policy."""
        wrong = {
            f"{action} in {resource}"
            for resource, document in policies(subject.known_templates)
            for action in allowed_actions(document)
            if "*" in action and not _of_cdk(action)
        }
        if wrong:
            return failed(listed(sorted(wrong)), CHANGED)
        return passed("none")


def allowed_actions(document: Mapping[str, Any]) -> Iterator[str]:
    """Actions a document allows."""
    for statement in statements(document):
        if statement["Effect"] == "Allow":
            yield from words(statement.get("Action", []))


def _of_cdk(action: str) -> bool:
    """CDK's grant to the function that copies bundles; it names bucket and prefix as resources."""
    return action in ("s3:GetObject*", "s3:GetBucket*", "s3:List*", "s3:DeleteObject*", "s3:Abort*")


class TemplateWildcardResources(TemplateCheck):
    """By AWS's own table of which actions take a resource, as cfn-lint brings it along."""

    id = "template-wildcard-resources"
    asks = "no policy allows an action on every resource where AWS lets one name resources"

    def run(self, subject: Subject) -> Outcome:
        """Every statement with the resource ``*``, unless a condition narrows it."""
        table = action_table()
        if table is None:
            return unknown("cfn-lint, whose table of actions this needs, is not installed", INSTALL)
        wrong, strange = set(), set()
        for resource, document in policies(subject.known_templates):
            for action in set(_on_everything(document)) - set(EXPLAINED):
                takes = _takes_resource(action, table)
                if takes is None:
                    strange.add(action)
                elif takes:
                    wrong.add(f"{action} in {resource}")
        if wrong:
            return failed(listed(sorted(wrong)), CHANGED)
        if strange:
            return unknown(f"not in cfn-lint's table: {listed(sorted(strange))}", "update cfn-lint")
        return passed("only actions that take no resource, or that a condition narrows")


@cache
def action_table() -> Mapping[str, Any] | None:
    """By service: its actions, and the kinds of resources each takes. None without cfn-lint."""
    package = find_spec("cfnlint")
    if package is None or package.origin is None:
        return None
    file = Path(package.origin).parent / "data" / "AdditionalSpecs" / "Policies.json"
    table: dict[str, Any] | None = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    return table


def _on_everything(document: Mapping[str, Any]) -> Iterator[str]:
    for statement in statements(document):
        unbound = "*" in words(statement.get("Resource", [])) and not statement.get("Condition")
        if statement["Effect"] == "Allow" and unbound:
            yield from words(statement.get("Action", []))


def _takes_resource(action: str, table: Mapping[str, Any]) -> bool | None:
    """None for an action the table does not have."""
    service, _, name = action.partition(":")
    entry = table.get(service.lower(), {}).get("Actions", {}).get(name.lower())
    return None if entry is None else bool(entry.get("Resources"))
