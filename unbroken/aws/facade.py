"""All services of one account and region."""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.aws.cloudformation import CloudFormation
from unbroken.aws.sagemaker import SageMaker
from unbroken.aws.session import Patience, Session


@dataclass(frozen=True)
class Aws:
    """One attribute a service; their clients are made when first asked."""

    session: Session
    cloudformation: CloudFormation
    sagemaker: SageMaker


def connect(region: str, endpoint: str | None = None, patience: Patience | None = None) -> Aws:
    """AWS in a region with the environment's credentials; ``endpoint`` overrides AWS_ENDPOINT_URL."""
    return over(Session(region, endpoint, patience))


def over(session: Session) -> Aws:
    """The services over a session."""
    return Aws(session, CloudFormation(session), SageMaker(session))
