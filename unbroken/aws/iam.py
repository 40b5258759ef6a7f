"""Roles, and what policies allow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from unbroken.aws.session import AwsError, Session


@dataclass(frozen=True)
class Role:
    """A role and who may assume it."""

    arn: str
    name: str
    trust: Mapping[str, Any]
    boundary: str | None
    """ARN of its permissions boundary."""


@dataclass(frozen=True)
class Decision:
    """What the policy simulator says of one action on one resource."""

    action: str
    resource: str
    decision: str
    """``allowed``, ``explicitDeny`` or ``implicitDeny``."""
    missing_context: tuple[str, ...]
    """Condition keys the simulator had no values for; they may turn the decision."""
    by_boundary: bool
    """Whether the permissions boundary is what denies."""
    by_organization: bool
    """Whether a policy of the organization is what denies."""

    @property
    def allowed(self) -> bool:
        """Whether it is allowed."""
        return self.decision == "allowed"


class Iam:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def role(self, name: str) -> Role | None:
        """A role by its name (without path); None where there is none."""
        try:
            found = self._session.ask("iam", "get_role", f"role {name}", RoleName=name)["Role"]
        except AwsError as error:
            if error.is_("NoSuchEntity"):
                return None
            raise
        boundary = found.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn")
        return Role(found["Arn"], found["RoleName"], _document(found["AssumeRolePolicyDocument"]), boundary)

    def policy_document(self, arn: str) -> Mapping[str, Any] | None:
        """The default version of a managed policy; None where there is none."""
        try:
            policy = self._session.ask("iam", "get_policy", f"policy {arn}", PolicyArn=arn)["Policy"]
            version = self._session.ask(
                "iam",
                "get_policy_version",
                f"policy {arn}",
                PolicyArn=arn,
                VersionId=policy["DefaultVersionId"],
            )
        except AwsError as error:
            if error.is_("NoSuchEntity"):
                return None
            raise
        return _document(version["PolicyVersion"]["Document"])

    def simulate_principal(
        self, arn: str, actions: Sequence[str], resource: str, context: Mapping[str, str] | None = None
    ) -> list[Decision]:
        """What a user's or role's policies, boundary and organization allow on one resource."""
        found = self._session.ask_all(
            "iam",
            "simulate_principal_policy",
            "EvaluationResults",
            arn,
            PolicySourceArn=arn,
            ActionNames=list(actions),
            ResourceArns=[resource],
            ContextEntries=_context(context),
        )
        return [_decision(one) for one in found]

    def simulate_policies(
        self,
        policies: Sequence[str],
        actions: Sequence[str],
        resource: str,
        context: Mapping[str, str] | None = None,
        boundary: str | None = None,
    ) -> list[Decision]:
        """What policy documents (JSON) would allow on one resource, within a boundary if one is given."""
        limits = {"PermissionsBoundaryPolicyInputList": [boundary]} if boundary else {}
        found = self._session.ask_all(
            "iam",
            "simulate_custom_policy",
            "EvaluationResults",
            f"{', '.join(actions)} on {resource}",
            PolicyInputList=list(policies),
            ActionNames=list(actions),
            ResourceArns=[resource],
            ContextEntries=_context(context),
            **limits,
        )
        return [_decision(one) for one in found]


def _document(found: Any) -> Mapping[str, Any]:
    """A policy document, which botocore gives decoded and other endpoints give as URL-encoded text."""
    if isinstance(found, str):
        decoded: Mapping[str, Any] = json.loads(unquote(found))
        return decoded
    document: Mapping[str, Any] = found
    return document


def _context(values: Mapping[str, str] | None) -> list[dict[str, Any]]:
    return [
        {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
        for key, value in (values or {}).items()
    ]


def _decision(found: Mapping[str, Any]) -> Decision:
    boundary = found.get("PermissionsBoundaryDecisionDetail", {})
    organization = found.get("OrganizationsDecisionDetail", {})
    return Decision(
        action=found["EvalActionName"],
        resource=found.get("EvalResourceName", "*"),
        decision=found["EvalDecision"],
        missing_context=tuple(found.get("MissingContextValues", ())),
        by_boundary=boundary.get("AllowedByPermissionsBoundary") is False,
        by_organization=organization.get("AllowedByOrganizations") is False,
    )
