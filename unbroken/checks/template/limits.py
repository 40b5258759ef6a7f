"""Limits of CloudFormation and IAM (their user guides, "Quotas", and "IAM and STS quotas")."""

from __future__ import annotations

import json
from typing import Any

from unbroken.catalog.cloudformation import INLINE_BYTES
from unbroken.checks.result import Outcome, counted, failed, listed, passed
from unbroken.checks.subject import Subject
from unbroken.checks.template.base import TemplateCheck
from unbroken.checks.template.model import Place, Resource, Template, all_resources, resolved

MOST_RESOURCES = 500
MOST_BYTES = 1_000_000
MOST_PARAMETERS = 200
MOST_OUTPUTS = 200
MOST_INLINE_POLICY = 10_240
"""Characters of all inline policies of a role together, without white space."""


class TemplateLimits(TemplateCheck):
    """Found by CloudFormation only when the stack is made."""

    id = "template-limits"
    asks = (
        f"no template has more than {MOST_RESOURCES} resources, 1 MB, or {MOST_OUTPUTS} parameters or outputs"
    )

    def run(self, subject: Subject) -> Outcome:
        """Every template."""
        templates = subject.known_templates.values()
        wrong = [words for template in templates for words in _over(template)]
        if wrong:
            return failed(listed(wrong), "use fewer groups or data repositories, or two cluster files")
        sizes = {template.area: template.path.stat().st_size for template in templates}
        largest = max(sizes, key=lambda area: sizes[area])
        way = (
            "inline"
            if sizes[largest] <= INLINE_BYTES
            else "through the bootstrap bucket (above 51,200 bytes)"
        )
        return passed(
            f"{len(sizes)} templates; the largest, {largest}, has {sizes[largest]:,} bytes and goes {way}"
        )


def _over(template: Template) -> list[str]:
    document = template.document
    counts = {
        "resources": (len(document.get("Resources", {})), MOST_RESOURCES),
        "bytes": (template.path.stat().st_size, MOST_BYTES),
        "parameters": (len(document.get("Parameters", {})), MOST_PARAMETERS),
        "outputs": (len(document.get("Outputs", {})), MOST_OUTPUTS),
    }
    return [f"{template.area}: {n:,} {what}" for what, (n, most) in counts.items() if n > most]


class TemplatePolicySize(TemplateCheck):
    """A role's inline policies share one allowance."""

    id = "template-policy-size"
    asks = f"no role has more than {MOST_INLINE_POLICY:,} characters of inline policies"

    def run(self, subject: Subject) -> Outcome:
        """Every role, with the policies attached to it."""
        roles = all_resources(subject.known_templates, "AWS::IAM::Role")
        sizes = {str(role): _inline_size(role, subject.known_templates[role.area]) for role in roles}
        wrong = [f"{name}: {size:,}" for name, size in sizes.items() if size > MOST_INLINE_POLICY]
        if wrong:
            return failed(listed(wrong), "bring fewer buckets along, or a role of your own")
        largest = f", at most {max(sizes.values()):,} characters" if sizes else ""
        return passed(counted(len(sizes), "role") + largest)


def _inline_size(role: Resource, template: Template) -> int:
    """As CloudFormation will write them; a reference to another resource counts as long as it is here."""
    documents = [policy["PolicyDocument"] for policy in role.properties.get("Policies", ())]
    for policy in template.resources("AWS::IAM::Policy"):
        if {"Ref": role.logical_id} in policy.properties.get("Roles", ()):
            documents.append(policy.properties["PolicyDocument"])
    return sum(len(json.dumps(_written(document), separators=(",", ":"))) for document in documents)


def _written(value: Any) -> Any:
    """With the account's number and the like in their places."""
    text = resolved(value, Place(account="1" * 12, region="ap-southeast-1"))
    if text is not None:
        return text
    if isinstance(value, dict):
        return {key: _written(one) for key, one in value.items()}
    return [_written(one) for one in value] if isinstance(value, list) else value
