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


class CheckFailed(OpsError):
    """The verb did its work, and what it checked did not hold."""
