"""What goes wrong that a person can mend. Standard library only."""

from __future__ import annotations


class JobError(Exception):
    """Its words are told without a traceback: `message` says what was found, `hint` one way out.

    `final`: another start would end in the same way, until a person has changed something.
    """

    def __init__(self, message: str, hint: str = "", *, final: bool = False) -> None:
        super().__init__(f"{message}\n  hint: {hint}" if hint else message)
        self.message = message
        self.hint = hint
        self.final = final


def in_words(error: BaseException) -> str:
    """What an error says; of one that is not for a person its kind too, without which many say little."""
    return str(error) if isinstance(error, JobError) else f"{type(error).__name__}: {error}"
