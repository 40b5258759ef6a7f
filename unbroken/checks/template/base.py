"""What checks of templates share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, failed, listed, passed
from unbroken.checks.template.model import Resource, Template

CHANGED = "undo the change in stacks/ that took it away"
"""The way out of nearly every finding here: the templates are this project's own."""


class TemplateCheck(Check):
    """A check of the synthesized templates."""

    area = Area.TEMPLATE
    needs_templates = True


def every(things: list[Resource], wrong: Iterable[Resource], what: str, fix: str = CHANGED) -> Outcome:
    """PASS where none of the things is wrong; with nothing to look at, that is said."""
    named = [str(resource) for resource in wrong]
    if named:
        return failed(f"not so for {listed(named)}", fix)
    return passed(f"all {what}: {len(things)}" if things else f"no {what} in the templates")


def statements(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A policy document's statements; one may stand without a list."""
    found = document.get("Statement", [])
    return found if isinstance(found, list) else [found]


def words(value: Any) -> list[Any]:
    """A policy element as a list; one may stand without it."""
    return value if isinstance(value, list) else [value]


def policies(templates: Mapping[str, Template]) -> Iterator[tuple[Resource, Mapping[str, Any]]]:
    """Every identity policy document, with the resource it is in."""
    for template in templates.values():
        for role in template.resources("AWS::IAM::Role"):
            for policy in role.properties.get("Policies", ()):
                yield role, policy["PolicyDocument"]
        for policy in template.resources("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            yield policy, policy.properties["PolicyDocument"]
