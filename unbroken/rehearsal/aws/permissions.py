"""Would IAM let a node's execution role do this? Evaluated with ministack's policy evaluator.

Considered: the role's inline and managed policies, its permissions boundary, and the resource's own policy.
Calls of nodes count as made over TLS, as they are on AWS, although the rehearsal's network carries plain
HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import ministack.core.iam_evaluator as evaluator
import ministack.services.iam as iam
from ministack.core.iam_actions import identity_denial_message
from ministack.core.responses import request_scope

from unbroken.rehearsal.aws import environment


@dataclass(frozen=True)
class Principal:
    """A node acting with its execution role; the session is named after the instance."""

    role: str
    session: str

    @property
    def arn(self) -> str:
        """The assumed role's ARN, as CloudTrail and error messages name it."""
        return f"arn:aws:sts::{environment.ACCOUNT}:assumed-role/{self.role}/{self.session}"


@dataclass(frozen=True)
class Denial:
    """A call that is not allowed."""

    principal: Principal
    action: str
    resource: str
    explicit: bool

    @property
    def message(self) -> str:
        """AWS's own wording."""
        return str(identity_denial_message(self.action, self.principal.arn, self.resource, self.explicit))


def install_managed_policies() -> None:
    """Add the AWS managed policies this project relies on to ministack's; their documents are our reading."""
    for entry in resources.files("unbroken.rehearsal.aws").joinpath("data").iterdir():
        policy = json.loads(entry.read_text())
        name = policy["arn"].rpartition("/")[2]
        record = iam._make_aws_managed_record(name, json.dumps(policy["document"]), policy["source"])
        iam._aws_managed_policies[policy["arn"]] = record


class Permissions:
    """Decides single calls. Thread-safe."""

    def __init__(self, region: str) -> None:
        self.region = region

    def check(
        self, principal: Principal, action: str, resource: str, context: Mapping[str, Any] | None = None
    ) -> Denial | None:
        """None where the call is allowed; ``context`` holds condition keys, such as s3:prefix."""
        with request_scope(environment.ACCOUNT, self.region):
            result = self._evaluate(principal, action, resource, context or {})
        if result.decision == "Allow":
            return None
        return Denial(principal, action, resource, explicit=result.decision == "Deny")

    def _evaluate(self, principal: Principal, action: str, resource: str, context: Mapping[str, Any]) -> Any:
        question = evaluator.EvalContext(
            principal_arn=principal.arn,
            principal_type="AssumedRole",
            principal_account=environment.ACCOUNT,
            action=action,
            resource_arn=resource,
            region=self.region,
            secure_transport=True,
            service_context={key.lower(): value for key, value in context.items()},
        )
        policies = evaluator._gather_role_policies(principal.role, environment.ACCOUNT)
        limits = evaluator._permissions_boundary(iam._roles, principal.role, environment.ACCOUNT)
        result = evaluator.evaluate(question, policies, *limits)
        found = evaluator._resource_policy(action.split(":")[0], resource)
        if found is None:
            return result
        return evaluator.combine_resource_policy(result, question, *found, limits=limits)
