"""Whether the deployment itself may do its work."""

from __future__ import annotations

from unbroken.checks.account.names import place
from unbroken.checks.account.needs import OF_CLOUDFORMATION, Need
from unbroken.checks.account.simulation import filled, verdict_on
from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, listed, passed, unknown
from unbroken.checks.subject import Subject
from unbroken.checks.template.model import all_resources


class PermissionsDeployer(Check):
    """The cdk command does nothing by itself: it assumes the roles that bootstrapping made."""

    id = "permissions-deployer"
    area = Area.PERMISSIONS
    asks = "these credentials may assume CDK's roles and look at what is deployed"
    faults = ("UP-058",)
    calls = ("sts:GetCallerIdentity", "iam:SimulatePrincipalPolicy", "iam:GetRole")

    def run(self, subject: Subject) -> Outcome:
        """By the caller's own policies."""
        where, iam = place(subject), subject.asked.aws.iam
        caller = _caller(subject)
        if caller is None:
            return unknown(
                "the role of these credentials cannot be looked up", "use credentials that may iam:GetRole"
            )
        prefix = f"arn:{where.partition}:iam::{where.account}:role/cdk-hnb659fds-"
        needs = [
            Need(("sts:AssumeRole",), f"{prefix}{role}-role-{where.account}-{where.region}")
            for role in ("deploy", "file-publishing")
        ]
        needs.append(Need(("cloudformation:DescribeStacks", "sagemaker:DescribeCluster"), "*"))
        decisions = [
            one for need in needs for one in iam.simulate_principal(caller, need.actions, need.resource)
        ]
        return verdict_on(decisions, caller, "have these actions allowed, or log in as somebody who may")


def _caller(subject: Subject) -> str | None:
    """The caller as the simulator takes it: a role instead of its session, with its path."""
    identity = subject.asked.identity()
    if identity.role_name is None:
        return identity.arn
    role = subject.asked.aws.iam.role(identity.role_name)
    return role.arn if role else None


class PermissionsCloudFormation(Check):
    """Bootstrapped with narrow policies, this role may lack what a stack needs: found half-way through."""

    id = "permissions-cloudformation"
    area = Area.PERMISSIONS
    asks = "the role that CloudFormation works with may make every kind of resource in the templates"
    faults = ("UP-058",)
    calls = ("sts:GetCallerIdentity", "iam:SimulatePrincipalPolicy")
    needs_templates = True

    def run(self, subject: Subject) -> Outcome:
        """By the policies of CDK's role, for the types that are there."""
        where, iam = place(subject), subject.asked.aws.iam
        name = f"cdk-hnb659fds-cfn-exec-role-{where.account}-{where.region}"
        role = f"arn:{where.partition}:iam::{where.account}:role/{name}"
        kinds = dict.fromkeys(one.type_name for one in all_resources(subject.known_templates))
        needs = [filled(OF_CLOUDFORMATION[kind], subject) for kind in kinds if kind in OF_CLOUDFORMATION]
        decisions = [
            one for need in needs for one in iam.simulate_principal(role, need.actions, need.resource)
        ]
        return verdict_on(decisions, name, "add these actions to the policies it was bootstrapped with")


class ServiceLinkedRoles(Check):
    """HyperPod and FSx work with roles of their own, which the first use in an account makes."""

    id = "service-linked-roles"
    area = Area.PERMISSIONS
    asks = "the service-linked roles of HyperPod and FSx are there, or CloudFormation may have them made"
    calls = ("sts:GetCallerIdentity", "iam:GetRole", "iam:SimulatePrincipalPolicy")

    def run(self, subject: Subject) -> Outcome:
        """Each that is missing is simulated."""
        where, iam = place(subject), subject.asked.aws.iam
        missing = {role: service for role, service in _roles(subject) if iam.role(role) is None}
        if not missing:
            return passed(listed(role for role, _ in _roles(subject)))
        makers = f"arn:{where.partition}:iam::{where.account}:role/"
        maker = f"{makers}cdk-hnb659fds-cfn-exec-role-{where.account}-{where.region}"
        decisions = []
        for role, service in missing.items():
            arn, context = f"{makers}aws-service-role/{service}/{role}", {"iam:AWSServiceName": service}
            decisions += iam.simulate_principal(maker, ["iam:CreateServiceLinkedRole"], arn, context)
        fix = f"run `aws iam create-service-linked-role --aws-service-name {next(iter(missing.values()))}`"
        return verdict_on(decisions, f"{listed(missing)} missing; CDK's role", fix)


def _roles(subject: Subject) -> list[tuple[str, str]]:
    roles = [("AWSServiceRoleForSageMakerHyperPod", "hyperpod.sagemaker.amazonaws.com")]
    makes = subject.config.storage.existing is None or subject.config.home is not None
    return [*roles, ("AWSServiceRoleForAmazonFSx", "fsx.amazonaws.com")] if makes else roles
