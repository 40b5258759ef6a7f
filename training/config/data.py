"""Settings of the data: where the text comes from and how it is cut into samples."""

from __future__ import annotations

from dataclasses import dataclass

from training.config.kinds import Count
from training.config.problems import Problem, Rule


@dataclass(frozen=True, kw_only=True)
class DataSettings:
    """The text and its samples."""

    dataset: str = "shipped"
    """Text to train on: `shipped` (the public-domain text of training/data/) or the path of a UTF-8 file."""
    context_length: Count = 32_768
    """Tokens in one sample."""
    num_epochs: Count = 3
    """Passes over the data; training ends with whichever of num_steps and num_epochs comes first."""


SHARED = ("context_length", "dataset")


def _dataset_is_a_file(settings: DataSettings) -> list[Problem]:
    if settings.dataset == "shipped" or "/" in settings.dataset:
        return []
    hint = "use `shipped` or the path of a text file; streamed datasets are not offered yet"
    return [Problem("dataset", f"{settings.dataset!r} is neither", hint)]


RULES: tuple[Rule, ...] = (_dataset_is_a_file,)
