"""Would IAM let a role, or a service, do this? Evaluated with ministack's policy evaluator.

Considered: the role's inline and managed policies, its permissions boundary, the resource's own policy, and
conditions. Calls of nodes count as made over TLS, as they are on AWS, although the rehearsal's network
carries plain HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


def install() -> None:
    """Add to ministack's evaluator what it lacks: managed policies, and a role's own ARN as a condition."""
    install_managed_policies()
    original = evaluator._resolve_condition_key

    def resolve(key: str, context: Any) -> Any:
        found = original(key, context)
        return role_arn(found) if key.lower() == "aws:principalarn" else found

    evaluator._resolve_condition_key = resolve


def role_arn(principal_arn: str) -> str:
    """aws:PrincipalArn of an assumed role is the role's ARN, not the session's (IAM user guide)."""
    if ":assumed-role/" not in principal_arn:
        return principal_arn
    account, role = principal_arn.split(":")[4], principal_arn.split("/")[1]
    found = iam._roles.get_scoped(account, None, role) or {}
    return str(found.get("Arn", f"arn:aws:iam::{account}:role/{role}"))


def administers(key_policy: str) -> bool:
    """Whether a key policy lets the account itself change it."""
    question = evaluator.EvalContext(
        principal_arn=f"arn:aws:iam::{environment.ACCOUNT}:root",
        principal_type="Root",
        principal_account=environment.ACCOUNT,
        action="kms:PutKeyPolicy",
        resource_arn="*",
        region="",
        secure_transport=True,
    )
    return bool(evaluator.evaluate_resource_policy(key_policy, question).decision == "Allow")


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

    def key_problem(self, service: str, actions: Sequence[str], key: str, context: Mapping[str, Any]) -> str:
        """Which of the actions a key's policy does not allow a service (``logs.us-west-2.amazonaws.com``),
        or a role that no policy of ours is attached to, by its ARN.
        """
        with request_scope(environment.ACCOUNT, self.region):
            found = evaluator._resource_policy("kms", key)
            for action in actions:
                question = self._question(Principal(service, service), action, key, context)
                question.principal_arn = question.principal_type = service
                by_name = service.startswith("arn:")  # a statement about the whole account does not mean it
                policy = found[0] if found else None
                decision = evaluator.evaluate_resource_policy(policy, question, service, named_only=by_name)
                if decision.decision != "Allow":
                    return f"the key policy does not allow {service} to perform: {action} on resource: {key}"
        return ""

    def _evaluate(self, principal: Principal, action: str, resource: str, context: Mapping[str, Any]) -> Any:
        question = self._question(principal, action, resource, context)
        policies = evaluator._gather_role_policies(principal.role, environment.ACCOUNT)
        limits = evaluator._permissions_boundary(iam._roles, principal.role, environment.ACCOUNT)
        result = evaluator.evaluate(question, policies, *limits)
        service = action.split(":")[0]
        found = evaluator._resource_policy(service, resource)
        if found is None:
            return result
        required = service in evaluator._POLICY_REQUIRED
        return evaluator.combine_resource_policy(result, question, *found, required=required, limits=limits)

    def _question(self, principal: Principal, action: str, resource: str, context: Mapping[str, Any]) -> Any:
        return evaluator.EvalContext(
            principal_arn=principal.arn,
            principal_type="AssumedRole",
            principal_account=environment.ACCOUNT,
            action=action,
            resource_arn=resource,
            region=self.region,
            secure_transport=True,
            service_context={key.lower(): value for key, value in (_implied(action, context)).items()},
        )


def _implied(action: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """The keys every call has that is made in the account."""
    own = {"kms:CallerAccount": environment.ACCOUNT} if action.startswith("kms:") else {}
    return {"aws:SourceAccount": environment.ACCOUNT, **own, **context}
