"""The learning rate of each step, from the settings alone: there is no state to save or to lose."""

from __future__ import annotations

import math

from training.config import JobConfig


def learning_rate(step: int, config: JobConfig) -> float:
    """Learning rate of step `step`, counted from 1.

    Linear from 0 over the warm-up, flat over the plateau, then the decay named by lr_schedule, which ends at
    min_learning_rate with step lr_decay_steps (the last one) and stays there.
    """
    steps = config.lr_decay_steps or config.num_steps
    warmup = config.warmup_fraction * steps
    flat_until = warmup + config.plateau_fraction * steps
    top, bottom = config.learning_rate, config.min_learning_rate
    if step < warmup:
        return top * step / warmup
    if step <= flat_until or config.lr_schedule == "constant":
        return top
    done = min(1.0, (step - flat_until) / (steps - flat_until)) if steps > flat_until else 1.0
    if config.lr_schedule == "exponential":
        return float(top * (bottom / top) ** done)
    falls = (1 + math.cos(math.pi * done)) / 2 if config.lr_schedule == "cosine" else 1 - done
    return bottom + (top - bottom) * falls
