"""One step's figures, as they stand in run/metrics.jsonl."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Record:
    """A finished step. Names are those of the JSON lines, and of every other place the figures go to."""

    attempt: int
    step: int
    """From 1."""
    tokens: int
    """Trained on since the beginning of the run."""
    loss: float
    """Mean over the ranks."""
    grad_norm: float
    """Of the whole gradient, before clipping."""
    lr: float
    tokens_per_s: float
    """Of all ranks together."""
    tokens_per_s_per_gpu: float
    mfu: float | None
    """Part of the device's peak of bf16 arithmetic that the model's own arithmetic is; null where the peak
    is not known, as on a CPU."""
    data_wait_s: float
    """The longest of any rank."""
    step_s: float
    """The whole step, waiting for data included, without evaluation and saving."""
    memory_gib: float | None
    """Most GPU memory the first rank has held so far."""
    slow_ranks: list[int]
    """Ranks found slow by the last comparison."""
    t: float
    """Seconds since the epoch."""

    def values(self) -> dict[str, Any]:
        """As a JSON line."""
        return asdict(self)

    def numbers(self) -> dict[str, float]:
        """The figures to plot, by name; what is not known is left out."""
        unplotted = ("attempt", "step", "t", "slow_ranks")
        found = {name: value for name, value in self.values().items() if name not in unplotted}
        return {name: float(value) for name, value in found.items() if value is not None}
