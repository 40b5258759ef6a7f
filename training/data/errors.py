"""Mistakes in the data that a person can correct; their words are shown without a traceback."""

from __future__ import annotations


class DataError(ValueError):
    """Data that cannot be used. `message` says what, `hint` one way out."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}\n  hint: {hint}")
        self.message = message
        self.hint = hint


class NoAnswer(DataError):
    """The hub, or the way to it, did not answer as it does on a good day; another try may help."""


class TooLittleText(DataError):
    """The text does not hold enough samples to train and validate on."""
