"""The optimizer of a sharded model. The learning rate of each step is schedule.py's."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from training.config import JobConfig


def adamw(model: nn.Module, config: JobConfig) -> torch.optim.Optimizer:
    """AdamW; the scales of the norms are not pulled towards zero."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    kept = [p for p in model.parameters() if p.dim() <= 1]
    groups: list[dict[str, Any]] = [{"params": decayed}, {"params": kept, "weight_decay": 0.0}]
    betas = (config.beta1, config.beta2)
    return torch.optim.AdamW(
        groups, config.learning_rate, betas, weight_decay=config.weight_decay, fused=True
    )
