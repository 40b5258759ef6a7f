"""The job's settings of the optimizer and its learning rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from unbroken.config.section import Fault, Section
from unbroken.config.training.kinds import Count, NotNegative, Positive, Probability


class OptimSettings(Section):
    """AdamW and the course of its learning rate."""

    num_steps: Count = 5_000
    """Steps of the optimizer."""
    learning_rate: Positive = 1e-4
    """Highest learning rate."""
    min_learning_rate: NotNegative = 1e-5
    """Learning rate at the end of the decay."""
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
    """Decay of the first moment."""
    beta2: Probability = 0.95
    """Decay of the second moment."""
    grad_clip: NotNegative = 1.0
    """Largest norm of the whole gradient; larger ones are scaled down. 0 turns it off."""

    def faults(self) -> Iterator[Fault]:
        """The learning rate falls, and its parts fit into the run."""
        if self.min_learning_rate > self.learning_rate:
            rule = f"is above learning_rate, {self.learning_rate}"
            yield Fault(
                ("min_learning_rate",), self.min_learning_rate, rule, f"use at most {self.learning_rate}"
            )
        if self.warmup_fraction + self.plateau_fraction > 1:
            rule = f"and warmup_fraction {self.warmup_fraction} are more than the whole run"
            yield Fault(("plateau_fraction",), self.plateau_fraction, rule, "lower one of them")
        if self.lr_schedule == "plateau" and self.plateau_fraction == 0:
            rule = "leaves lr_schedule plateau without its plateau"
            yield Fault(("plateau_fraction",), 0.0, rule, "give the part of the run at the top, such as 0.8")
