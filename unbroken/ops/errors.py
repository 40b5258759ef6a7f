"""How a verb says that it could not run, or that what it checked did not hold.

The command line turns CannotRun into exit code 2 and CheckFailed into exit code 1.
"""

from __future__ import annotations


class OpsError(Exception):
    """A sentence for the user, and where there is one, a way out."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CannotRun(OpsError):
    """The verb could not do its work: something it needs is missing."""


def of_aws(error: Exception) -> CannotRun | None:
    """An error of the AWS gateway as one of a verb; None for any other."""
    from unbroken.aws.session import AwsError  # here: it imports botocore, which most errors have no need of

    return CannotRun(str(error), error.hint) if isinstance(error, AwsError) else None


class CheckFailed(OpsError):
    """The verb did its work, and what it checked did not hold."""
