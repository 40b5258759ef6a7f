"""Keys."""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.aws.session import AwsError, Session


@dataclass(frozen=True)
class Key:
    """A key of KMS."""

    arn: str
    state: str
    """Enabled, Disabled, PendingDeletion, ..."""
    usage: str
    spec: str


class Kms:
    """Raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def key(self, key_id: str) -> Key | None:
        """A key by ARN, id or alias; None where there is none."""
        try:
            found = self._session.ask("kms", "describe_key", f"key {key_id}", KeyId=key_id)["KeyMetadata"]
        except AwsError as error:
            if error.is_("NotFoundException"):
                return None
            raise
        return Key(
            arn=found.get("Arn", ""),
            state=found.get("KeyState", ""),
            usage=found.get("KeyUsage", ""),
            spec=found.get("KeySpec", ""),
        )
