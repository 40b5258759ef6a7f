"""Whose account it is, and whether it is ready for CDK and HyperPod at all."""

from __future__ import annotations

from unbroken.checks.account.base import deployed
from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, failed, listed, passed, unknown
from unbroken.checks.subject import Subject
from unbroken.config.rules.accounts import Arn, arns

BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
LEAST_BOOTSTRAP = 6
"""What CDK's manifest asks for where a stack has assets; a test compares."""


class AccountIdentity(Check):
    """Everything else is asked with these credentials."""

    id = "account-identity"
    area = Area.ACCOUNT
    asks = "there are credentials, and AWS takes them"
    faults = ("UP-084",)
    calls = ("sts:GetCallerIdentity",)

    def run(self, subject: Subject) -> Outcome:
        """Who asks."""
        found = subject.asked.identity()
        if found.arn.endswith(":root"):
            fix = (
                "log in as a role or a user: root can assume no role, and nobody can simulate what it may do"
            )
            return unknown(f"they are the root user's of account {found.account}", fix)
        return passed(f"account {found.account}, as {found.arn}")


class AccountArns(Check):
    """An ARN copied from another account or region fails an hour later, far from its cause."""

    id = "account-arns"
    area = Area.ACCOUNT
    asks = "every ARN in the file is of this account, and of its region where it has one"
    faults = ("UP-063",)
    calls = ("sts:GetCallerIdentity",)

    def applies(self, subject: Subject) -> bool:
        """Only with an ARN in the file."""
        return bool(_arns(subject))

    def run(self, subject: Subject) -> Outcome:
        """Account and region of each."""
        account, region = subject.asked.identity().account, subject.config.region
        found = _arns(subject)
        wrong = [one.text for one in found if one.account != account or one.region not in ("", region)]
        if wrong:
            fix = f"use ARNs of account {account} in {region}, or other credentials"
            return failed(f"not of account {account} in {region}: {listed(wrong)}", fix)
        return passed(f"{len(found)} of account {account}")


def _arns(subject: Subject) -> list[Arn]:
    """Keys of another account are allowed by KMS, and policies of AWS are of none."""
    return [one for one in arns(subject.config.model_dump()) if one.account and one.service != "kms"]


class AccountRegion(Check):
    """Newer regions have to be enabled, by the account or by its organization."""

    id = "account-region"
    area = Area.ACCOUNT
    asks = "the file's region is enabled in this account"
    faults = ("UP-063",)
    calls = ("ec2:DescribeRegions",)

    def run(self, subject: Subject) -> Outcome:
        """Its opt-in status."""
        region, status = subject.config.region, subject.asked.aws.ec2.region_status()
        if status in ("opt-in-not-required", "opted-in"):
            return passed(f"{region}: {status}")
        if status is None:
            return unknown(f"AWS did not say anything of {region}", "check the region's name")
        return failed(f"{region}: {status}", f"enable {region} in the account, or use another region")


class AccountBootstrap(Check):
    """CDK needs a bucket and roles in each account and region, made once."""

    id = "account-bootstrap"
    area = Area.ACCOUNT
    asks = f"CDK's bootstrap stack is there, version {LEAST_BOOTSTRAP} or newer"
    calls = ("ssm:GetParameter",)

    def run(self, subject: Subject) -> Outcome:
        """The version it left in Systems Manager."""
        account = subject.asked
        version = account.aws.ssm.parameter(BOOTSTRAP)
        fix = f"run `npx cdk bootstrap aws://{account.identity().account}/{account.region}`, once"
        if version is None:
            return failed(f"there is no parameter {BOOTSTRAP}", fix)
        if not version.isdigit():
            return unknown(f"the parameter {BOOTSTRAP} says {version!r}", fix)
        return (
            passed(f"version {version}")
            if int(version) >= LEAST_BOOTSTRAP
            else failed(f"version {version}", fix)
        )


class AccountIdentityCenter(Check):
    """Amazon Managed Grafana with AWS_SSO cannot be made without it."""

    id = "account-identity-center"
    area = Area.ACCOUNT
    asks = "IAM Identity Center is enabled, since Grafana's users log in with it"
    faults = ("UP-014",)
    calls = ("sso:ListInstances",)

    def applies(self, subject: Subject) -> bool:
        """Only for a Grafana made with it."""
        observability = subject.config.observability
        return observability.grafana == "create" and observability.grafana_authentication == "AWS_SSO"

    def run(self, subject: Subject) -> Outcome:
        """An instance in this region. One in another region serves as well, and cannot be seen from here."""
        instances = subject.asked.aws.identity_center.instances()
        if instances:
            return passed(listed(instances))
        if deployed(subject, "observability"):
            return passed("the Grafana that is deployed already uses it")
        fix = "enable it, use observability.grafana_authentication: SAML, or allow this unknown"
        return unknown(f"none in {subject.asked.region}; it may be enabled in another region", fix)
