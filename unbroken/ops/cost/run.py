"""What a run of the job costs, from its tokens and how fast they go.

The speed is the user's to give: measured tokens a second, or the part of the GPUs' peak that the job is
expected to reach (MFU). Nothing is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.catalog import instance_types
from unbroken.catalog.models import BF16_TFLOPS, SHAPES
from unbroken.config import ClusterConfig
from unbroken.ops.cost.estimate import Total
from unbroken.ops.errors import CannotRun


@dataclass(frozen=True)
class Budget:
    """What the job's settings say about its length."""

    ranks: int
    """Processes that train: one per GPU, or one per node without GPUs."""
    tokens_per_step: int
    steps: int
    """At most: the job also ends after ``num_epochs`` passes over its data."""

    @property
    def tokens(self) -> int:
        """Of the whole run."""
        return self.tokens_per_step * self.steps


@dataclass(frozen=True)
class RunCost:
    """What a run costs while it goes at one speed, without interruptions."""

    budget: Budget
    tokens_per_second: float
    """Of one rank."""
    basis: str
    """Where the speed comes from."""
    hour: Total
    """What an hour of the cluster costs."""

    @property
    def hours(self) -> float:
        """Of the whole run."""
        return self.budget.tokens / (self.tokens_per_second * self.budget.ranks) / 3600

    @property
    def usd(self) -> float:
        """Of the whole run, for everything that is up meanwhile."""
        return self.hours * self.hour.usd_per_hour

    @property
    def usd_per_step(self) -> float:
        """Of one optimizer step."""
        return self.usd / self.budget.steps

    @property
    def usd_per_billion_tokens(self) -> float:
        """Of 10^9 tokens."""
        return self.usd / self.budget.tokens * 1e9


def budget(config: ClusterConfig) -> Budget:
    """The token budget of the job on the first worker group."""
    group, training = config.worker_groups[0], config.training
    ranks = group.num_instances * (instance_types.get(group.instance_type).gpus or 1)
    samples = ranks * training.train_batch_size * training.gradient_accumulation
    return Budget(ranks, samples * training.context_length, training.num_steps)


def at_speed(config: ClusterConfig, hour: Total, tokens_per_second: float) -> RunCost:
    """The run's cost at a measured speed, in tokens a second of one rank."""
    return RunCost(budget(config), tokens_per_second, "as given", hour)


def at_utilization(config: ClusterConfig, hour: Total, mfu: float) -> RunCost:
    """The run's cost where the job reaches a part of the GPUs' peak. Raises CannotRun if that is unknown."""
    model = instance_types.get(config.worker_groups[0].instance_type).gpu_model
    peak = BF16_TFLOPS.get(model or "")
    if peak is None or config.training.precision != "bf16":
        what = f"{model or 'processors'} in {config.training.precision}"
        raise CannotRun(
            f"the peak of {what} is not known here, so a speed cannot follow from --mfu",
            "give the job's own speed: --tokens-per-second 1500",
        )
    speed = mfu * peak * 1e12 / flops_per_token(config)
    basis = f"{mfu:.0%} of {peak:g} TFLOP/s, the {model}'s peak in bf16"
    return RunCost(budget(config), speed, basis, hour)


def flops_per_token(config: ClusterConfig) -> float:
    """Operations a token costs, forward and backward, without what activation checkpointing does again.

    Six for each parameter, and twelve for each layer, width and token of context: how model FLOPs utilization
    is defined (Chowdhery and others, PaLM, appendix B).
    """
    shape = SHAPES[config.training.preset]
    return 6 * shape.parameters + 12 * shape.layers * shape.width * config.training.context_length
