"""The learning rate as a function of the step. No state, so nothing of it is saved or restored."""

from __future__ import annotations

import math

from training.config import JobConfig


def learning_rate(step: int, config: JobConfig) -> float:
    """Learning rate of step `step`, counted from 1.

    Linear from 0 over the warm-up, flat over the plateau, then the decay named by lr_schedule, which ends at
    min_learning_rate with the last step.
    """
    warmup = config.warmup_fraction * config.num_steps
    flat_until = warmup + config.plateau_fraction * config.num_steps
    top, bottom = config.learning_rate, config.min_learning_rate
    if step < warmup:
        return top * step / warmup
    if step <= flat_until or config.lr_schedule == "constant":
        return top
    done = min(1.0, (step - flat_until) / (config.num_steps - flat_until))
    remaining = 1 - done if config.lr_schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
    return bottom + (top - bottom) * remaining
