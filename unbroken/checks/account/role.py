"""What the nodes' role allows, made or brought along."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from unbroken.checks.account.names import place
from unbroken.checks.account.nodes_needs import nodes_needs
from unbroken.checks.account.simulation import verdict_on
from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, failed, passed, unknown
from unbroken.checks.subject import Subject
from unbroken.checks.template.base import statements, words
from unbroken.checks.template.model import Place, Template
from unbroken.checks.template.stand_in import with_stand_ins

SERVICE = "sagemaker.amazonaws.com"


class PermissionsNodes(Check):
    """The role in the template, before it exists, within the boundary that it will get."""

    id = "permissions-nodes"
    area = Area.PERMISSIONS
    asks = "the role made for the nodes allows what HyperPod and the lifecycle scripts need"
    faults = ("UP-015", "UP-025", "UP-071")
    calls = ("sts:GetCallerIdentity", "iam:SimulateCustomPolicy", "iam:GetPolicy", "iam:GetPolicyVersion")
    needs_templates = True

    def applies(self, subject: Subject) -> bool:
        """Only where a role is made."""
        return subject.config.identity.execution_role_arn is None

    def run(self, subject: Subject) -> Outcome:
        """The rendered documents, with this account's values."""
        where, iam = place(subject), subject.asked.aws.iam
        documents = _documents(subject.known_templates, where)
        limit = subject.config.identity.permissions_boundary
        boundary = _boundary(limit, subject) if limit else None
        if limit and boundary is None:
            return unknown(f"the boundary {limit} was not found", "see permissions-boundary")
        if not documents:
            return failed(
                "the identity template has no role with policies", "report this as a fault of stacks/"
            )
        needs = nodes_needs(subject)
        decisions = [
            one
            for need in needs
            for one in iam.simulate_policies(documents, need.actions, need.resource, need.context, boundary)
        ]
        return verdict_on(
            decisions, "the nodes' role", "see the boundary, or report this as a fault of stacks/"
        )


def _documents(templates: Mapping[str, Template], where: Place) -> list[str]:
    """The role's policies as IAM will see them."""
    documents = [
        policy["PolicyDocument"]
        for role in templates["identity"].resources("AWS::IAM::Role")
        if SERVICE in str(role.properties["AssumeRolePolicyDocument"])
        for policy in role.properties.get("Policies", ())
    ]
    return [json.dumps(with_stand_ins(one, "identity", templates, where)) for one in documents]


def _boundary(arn: str, subject: Subject) -> str | None:
    document = subject.asked.aws.iam.policy_document(arn)
    return json.dumps(document) if document else None


class PermissionsBoundary(Check):
    """A role with a boundary that does not exist cannot be made."""

    id = "permissions-boundary"
    area = Area.PERMISSIONS
    asks = "the permissions boundary is there"
    calls = ("iam:GetPolicy", "iam:GetPolicyVersion")

    def applies(self, subject: Subject) -> bool:
        """Only with a boundary."""
        return subject.config.identity.permissions_boundary is not None

    def run(self, subject: Subject) -> Outcome:
        """By its ARN."""
        arn = str(subject.config.identity.permissions_boundary)
        if subject.asked.aws.iam.policy_document(arn) is None:
            return failed(f"there is no policy {arn}", "correct identity.permissions_boundary")
        return passed(arn)


class RoleTrust(Check):
    """A role that SageMaker may not assume is refused when the cluster is made."""

    id = "role-trust"
    area = Area.PERMISSIONS
    asks = "the role brought along exists, and SageMaker may assume it"
    calls = ("iam:GetRole",)

    def applies(self, subject: Subject) -> bool:
        """Only with a role brought along."""
        return subject.config.identity.execution_role_arn is not None

    def run(self, subject: Subject) -> Outcome:
        """By its trust policy."""
        arn = str(subject.config.identity.execution_role_arn)
        role = subject.asked.aws.iam.role(arn.rpartition("/")[2])
        if role is None or role.arn != arn:
            return failed(f"there is no role {arn}", "correct identity.execution_role_arn")
        if not any(map(_lets_sagemaker, statements(role.trust))):
            return failed(f"{role.name} does not trust {SERVICE}", f"add {SERVICE} to its trust policy")
        return passed(f"{role.name} trusts {SERVICE}")


def _lets_sagemaker(statement: Mapping[str, Any]) -> bool:
    principal = statement.get("Principal", {})
    services = words(principal.get("Service", [])) if isinstance(principal, dict) else []
    assume = {"sts:AssumeRole", "sts:*", "*"} & set(words(statement.get("Action", [])))
    return statement.get("Effect") == "Allow" and SERVICE in services and bool(assume)


class RolePermissions(Check):
    """A role brought along is simulated as it is."""

    id = "role-permissions"
    area = Area.PERMISSIONS
    asks = "the role brought along allows what HyperPod and the lifecycle scripts need"
    faults = ("UP-015", "UP-025", "UP-071")
    calls = ("sts:GetCallerIdentity", "iam:SimulatePrincipalPolicy")
    needs_templates = True

    def applies(self, subject: Subject) -> bool:
        """Only with a role brought along."""
        return subject.config.identity.execution_role_arn is not None

    def run(self, subject: Subject) -> Outcome:
        """Its policies, boundary and organization."""
        arn = str(subject.config.identity.execution_role_arn)
        iam = subject.asked.aws.iam
        needs = nodes_needs(subject)
        decisions = [
            one
            for need in needs
            for one in iam.simulate_principal(arn, need.actions, need.resource, need.context)
        ]
        fix = "attach the rights of docs/reference/permissions.md, or let this project make the role"
        return verdict_on(decisions, arn.rpartition("/")[2], fix)
