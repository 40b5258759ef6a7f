"""Parameters of Systems Manager."""

from __future__ import annotations

from unbroken.aws.session import AwsError, Session


class Ssm:
    """Raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def parameter(self, name: str) -> str | None:
        """A parameter's value; None where there is none."""
        try:
            found = self._session.ask("ssm", "get_parameter", f"parameter {name}", Name=name)
        except AwsError as error:
            if error.is_("ParameterNotFound"):
                return None
            raise
        value: str = found["Parameter"]["Value"]
        return value
