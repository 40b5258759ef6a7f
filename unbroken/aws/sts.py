"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.aws.session import Session


@dataclass(frozen=True)
class Identity:
    """The caller, as GetCallerIdentity tells of it."""

    account: str
    arn: str

    @property
    def partition(self) -> str:
        """``aws``, ``aws-cn``, ``aws-us-gov``."""
        return self.arn.split(":")[1]

    @property
    def role_name(self) -> str | None:
        """The role that is assumed, without its path; None for a user or root."""
        kind, _, rest = self.arn.split(":", 5)[5].partition("/")
        return rest.split("/")[0] if kind == "assumed-role" else None


class Sts:
    """Raises AwsError where AWS cannot be reached or the credentials are not good."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def identity(self) -> Identity:
        """The caller. Needs no permission."""
        found = self._session.ask("sts", "get_caller_identity", "the caller")
        return Identity(found["Account"], found["Arn"])
