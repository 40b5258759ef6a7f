"""IAM statements that say what they are for, and roles made of them.

The sentences go into the templates, beside the resource that holds the statements, where a reviewer sees
them; docs/reference/permissions.md is made from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import CfnResource, aws_iam
from constructs import Construct

PURPOSE = "unbroken:purpose"
"""Key of a resource's metadata: the Sid of each statement, and its purpose."""


@dataclass(frozen=True)
class Statement:
    """One statement; ``allow`` makes it."""

    sid: str
    actions: Sequence[str]
    resources: Sequence[str]
    conditions: Mapping[str, Any]
    purpose: str
    principals: Sequence[aws_iam.IPrincipal] = ()
    """Whom it allows; of use in the policy of a resource only."""

    def policy(self) -> aws_iam.PolicyStatement:
        """As CDK has it."""
        return aws_iam.PolicyStatement(
            sid=self.sid,
            actions=list(self.actions),
            resources=list(self.resources),
            conditions=dict(self.conditions) or None,
            principals=list(self.principals) or None,
        )


def allow(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: Mapping[str, Any] | None = None,
    *,
    purpose: str,
    principals: Sequence[aws_iam.IPrincipal] = (),
) -> Statement:
    """A statement that allows ``actions`` on ``resources``; ``purpose`` is a sentence a reviewer accepts."""
    return Statement(sid, actions, resources, conditions or {}, purpose, principals)


def document(statements: Iterable[Statement]) -> aws_iam.PolicyDocument:
    """A policy document of these statements."""
    return aws_iam.PolicyDocument(statements=[each.policy() for each in statements])


def explain(resource: Construct, statements: Iterable[Statement]) -> None:
    """Write the statements' purposes beside the resource that holds them."""
    holder = resource if isinstance(resource, CfnResource) else resource.node.default_child
    if not isinstance(holder, CfnResource):
        raise TypeError(f"{resource} holds no resource")
    holder.add_metadata(PURPOSE, {each.sid: each.purpose for each in statements})


def role(
    scope: Construct,
    name: str,
    *,
    service: str,
    description: str,
    policies: Mapping[str, Sequence[Statement]],
    trust: Mapping[str, Any] | None = None,
) -> aws_iam.Role:
    """A role for an AWS service, with these inline policies alone; ``trust`` narrows who may take it."""
    principal = aws_iam.ServicePrincipal(service, conditions=dict(trust) if trust else None)
    made = aws_iam.Role(
        scope,
        name,
        description=description,
        assumed_by=principal,
        inline_policies={title: document(statements) for title, statements in policies.items() if statements},
    )
    explain(made, [each for statements in policies.values() for each in statements])
    return made


def attach(scope: Construct, name: str, role_name: str, statements: Sequence[Statement]) -> aws_iam.CfnPolicy:
    """A further inline policy of a role that another stack made."""
    policy = aws_iam.CfnPolicy(
        scope, name, policy_name=name, policy_document=document(statements), roles=[role_name]
    )
    explain(policy, statements)
    return policy
