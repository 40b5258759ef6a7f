"""Secrets: whether they are there, never what is in them."""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.aws.session import AwsError, Session


@dataclass(frozen=True)
class Secret:
    """A secret of Secrets Manager."""

    arn: str
    deleted: bool
    """Whether it waits for its deletion; it cannot be read then."""


class Secrets:
    """Raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def secret(self, arn: str) -> Secret | None:
        """A secret; None where there is none."""
        try:
            found = self._session.ask("secretsmanager", "describe_secret", f"secret {arn}", SecretId=arn)
        except AwsError as error:
            if error.is_("ResourceNotFoundException"):
                return None
            raise
        return Secret(found["ARN"], "DeletedDate" in found)
