"""cdk-nag's AwsSolutions rules over our templates, and what of their findings is meant to be so."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stacks.node_runtime import use_packaged_node
from unbroken.config import ClusterConfig

_VARYING = [
    (r"<AWS::AccountId>", "<account>"),
    (r'\{"Fn::GetStackOutput":\{[^}]*\}\}', "<reference>"),
    (r"sagemaker-<cluster>-[0-9a-f]{6}-<account>-<region>", "<lifecycle bucket>"),
    (r"/[0-9a-f]{16}/", "/<hash>/"),
]


@dataclass(frozen=True, order=True)
class Finding:
    """One violated rule at one resource."""

    rule: str
    """Such as ``IAM5[Resource::*]``, without what differs from cluster to cluster."""
    resource: str
    """``<area>/<construct path>``."""


@dataclass(frozen=True)
class Accepted:
    """Findings that are meant to be so; both patterns match whole texts."""

    rule: str
    resource: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is one of these."""
        return bool(re.fullmatch(self.rule, finding.rule) and re.fullmatch(self.resource, finding.resource))


def findings(config: ClusterConfig, folder: Path) -> set[Finding]:
    """Synthesize with the rules on; ``folder`` gets the templates and the report."""
    use_packaged_node(os.environ)
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks

    from stacks.app import build_app

    app = build_app(config, folder)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    try:
        app.synth()
    except RuntimeError as error:  # jsii's, for any finding; the report has them
        if "ValidationFailed" not in str(error):
            raise
    return set(_read(config, folder / "validation-report.json"))


def open_findings(found: Iterable[Finding], accepted: Iterable[Accepted]) -> list[Finding]:
    """Those that nobody accepted."""
    return sorted(finding for finding in found if not any(each.covers(finding) for each in accepted))


def _read(config: ClusterConfig, report: Path) -> Iterator[Finding]:
    content = json.loads(report.read_text(encoding="utf-8"))
    [rules] = [each for each in content["pluginReports"] if each["pluginName"] == "AwsSolutions"]
    for violation in rules["violations"]:
        for construct in violation["violatingConstructs"]:
            yield Finding(
                _plain(violation["ruleName"], config),
                construct["constructPath"].removeprefix(f"{config.name}-"),
            )


def _plain(rule: str, config: ClusterConfig) -> str:
    """Names, regions and accounts differ; a reference to another stack is a whole JSON object."""
    for text, sign in ((config.storage.lifecycle_bucket, "<lifecycle bucket>"), (config.region, "<region>")):
        rule = rule.replace(text, sign) if text else rule
    rule = re.sub(rf"\b{re.escape(config.name)}\b", "<cluster>", rule.removeprefix("AwsSolutions-"))
    for pattern, sign in _VARYING:
        rule = re.sub(pattern, sign, rule)
    return rule
