"""How a verb says that it could not run, or that what it checked did not hold.

The command line turns CannotRun into exit code 2 and CheckFailed into exit code 1.
"""

from __future__ import annotations

import errno

_OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)
"""What the file system says for which no code is to blame."""


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


def of_files(error: Exception) -> CannotRun | None:
    """A disk that is full or a folder that cannot be written to, wherever that shows; None for any other."""
    if not isinstance(error, OSError) or error.errno not in _OF_THE_MACHINE:
        return None
    return CannotRun(
        f"{error.filename or 'a file'}: {error.strerror}",
        "free some space, or have the results go where you may write",
    )


class CheckFailed(OpsError):
    """The verb did its work, and what it checked did not hold."""
