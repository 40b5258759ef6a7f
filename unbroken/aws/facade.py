"""All services of one account and region."""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.aws.cloudformation import CloudFormation
from unbroken.aws.cloudwatch import CloudWatch
from unbroken.aws.ec2 import Ec2
from unbroken.aws.fsx import Fsx
from unbroken.aws.iam import Iam
from unbroken.aws.identity_center import IdentityCenter
from unbroken.aws.kms import Kms
from unbroken.aws.logs import Logs
from unbroken.aws.observability import Observability
from unbroken.aws.pricing import Pricing
from unbroken.aws.quotas import Quotas
from unbroken.aws.s3 import S3
from unbroken.aws.sagemaker import SageMaker
from unbroken.aws.secrets import Secrets
from unbroken.aws.session import Patience, Session
from unbroken.aws.ssm import Ssm
from unbroken.aws.sts import Sts


@dataclass(frozen=True)
class Aws:
    """One attribute a service; their clients are made when first asked."""

    session: Session
    cloudformation: CloudFormation
    cloudwatch: CloudWatch
    ec2: Ec2
    fsx: Fsx
    iam: Iam
    identity_center: IdentityCenter
    kms: Kms
    logs: Logs
    observability: Observability
    pricing: Pricing
    quotas: Quotas
    s3: S3
    sagemaker: SageMaker
    secrets: Secrets
    ssm: Ssm
    sts: Sts


def connect(region: str, endpoint: str | None = None, patience: Patience | None = None) -> Aws:
    """AWS in a region with the environment's credentials; ``endpoint`` overrides AWS_ENDPOINT_URL."""
    return over(Session(region, endpoint, patience))


def over(session: Session) -> Aws:
    """The services over a session."""
    return Aws(
        session,
        cloudformation=CloudFormation(session),
        cloudwatch=CloudWatch(session),
        ec2=Ec2(session),
        fsx=Fsx(session),
        iam=Iam(session),
        identity_center=IdentityCenter(session),
        kms=Kms(session),
        logs=Logs(session),
        observability=Observability(session),
        pricing=Pricing(session),
        quotas=Quotas(session),
        s3=S3(session),
        sagemaker=SageMaker(session),
        secrets=Secrets(session),
        ssm=Ssm(session),
        sts=Sts(session),
    )
