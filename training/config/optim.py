"""Settings of the optimizer and its learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from training.config.kinds import Count, NotNegative, Positive, Probability
from training.config.problems import Problem, Rule


@dataclass(frozen=True, kw_only=True)
class OptimSettings:
    """AdamW and the course of its learning rate; parts are parts of num_steps."""

    num_steps: Count = 5_000
    learning_rate: Positive = 1e-4
    min_learning_rate: NotNegative = 1e-5
    lr_schedule: Literal["cosine", "linear", "constant", "plateau", "exponential"] = "cosine"
    """Form of the decay from learning_rate to min_learning_rate. plateau: flat for plateau_fraction, then
    linear (warm-up, stable, decay). constant: none."""
    lr_decay_steps: Count | None = None
    """Step at which the decay ends, also longer than the run; null: num_steps."""
    warmup_fraction: Probability = 0.0032
    """Part of the decay's steps in which the learning rate rises from zero."""
    plateau_fraction: Probability = 0.0
    """Part, after the warm-up, in which the learning rate stays at its top."""
    weight_decay: NotNegative = 0.2
    """Of matrices and embeddings; the scales of norms are not pulled towards zero."""
    beta1: Probability = 0.9
    beta2: Probability = 0.95
    grad_clip: NotNegative = 1.0
    """Largest norm of the whole gradient; larger ones are scaled down. 0 turns it off."""


def _parts_fit(settings: OptimSettings) -> list[Problem]:
    if settings.warmup_fraction + settings.plateau_fraction <= 1:
        return []
    found = f"{settings.plateau_fraction} and warmup_fraction {settings.warmup_fraction} exceed 1"
    return [Problem("plateau_fraction", found, "lower one of them; together they are parts of num_steps")]


def _rate_falls(settings: OptimSettings) -> list[Problem]:
    lowest, highest = settings.min_learning_rate, settings.learning_rate
    if lowest > highest:
        hint = f"give at most {highest}"
        return [Problem("min_learning_rate", f"{lowest} is above learning_rate", hint)]
    if settings.lr_schedule == "exponential" and lowest == 0:
        hint = "give a number above 0, or another lr_schedule"
        return [Problem("min_learning_rate", "0 is never reached by exponential decay", hint)]
    return []


def _plateau_is_given(settings: OptimSettings) -> list[Problem]:
    if settings.lr_schedule != "plateau" or settings.plateau_fraction > 0:
        return []
    hint = "give the part of the run at the top, such as 0.8; for none use linear"
    return [Problem("plateau_fraction", "0 leaves lr_schedule plateau without its plateau", hint)]


RULES: tuple[Rule, ...] = (_parts_fit, _rate_falls, _plateau_is_given)
