"""Settings of the loop: batches, logging, validation, and how long ranks wait for each other."""

from __future__ import annotations

from dataclasses import dataclass

from training.config.kinds import Count, Whole
from training.config.problems import Rule


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How a run goes."""

    train_batch_size: Count = 1
    """Samples per rank and batch."""
    gradient_accumulation: Count = 1
    """Batches per rank and step; their gradients are added up before the optimizer's step."""
    val_batch_size: Count = 1
    """Samples per rank and validation batch."""
    seed: Whole = 42
    """Orders the samples and starts weights and dropout."""
    same_seed: bool = False
    """Start the random state of all ranks alike, so that they drop the same elements."""
    log_every: Count = 1
    """Steps between two lines in the log; the metrics file has every step."""
    validate_every: Whole = 500
    """Steps between two validations; 0 turns validation off."""
    validate_batches: Count = 10
    """Batches per rank and validation."""
    init_timeout_seconds: Count = 1_800
    """How long ranks wait for each other until the first step is done."""
    step_timeout_seconds: Count = 300
    """How long ranks wait for each other afterwards; a rank lost later than that ends the attempt."""


SHARED = ("seed",)

RULES: tuple[Rule, ...] = ()
