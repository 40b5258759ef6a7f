"""Mistakes in the data that a person can correct; their words are shown without a traceback."""

from __future__ import annotations

from training.errors import JobError


class DataError(JobError):
    """Data that cannot be used."""


class NoAnswer(DataError):
    """The hub, or the way to it, did not answer as it does on a good day; another try may help."""


class TooLittleText(DataError):
    """The text does not hold enough samples to train and validate on."""
