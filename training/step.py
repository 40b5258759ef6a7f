"""One optimizer step of one rank, and the loss of a batch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from training.data.batch import Batch
from training.device import put
from training.model.documents import keep_apart


@dataclass(frozen=True)
class Stepper:
    """Forward, backward and the optimizer's step, in the order that decides the numbers."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    grad_clip: float
    """0 for no limit."""
    has_flash: bool
    compiled: bool

    def step(self, batches: Iterable[Batch], count: int, lr: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Train on `count` batches as on one; returns this rank's mean loss and the norm of the whole
        gradient before clipping, both still on the device.

        Each batch's gradients are reduced at once: kept whole until the last one they would take the memory
        of all the weights on every rank.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        total = torch.zeros((), device=self.device)
        for batch in batches:
            loss = self.loss(batch) / count
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no type here
            total = total + loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.grad_clip or math.inf)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total, norm.full_tensor()  # type: ignore[attr-defined]  # a DTensor under FSDP2

    def loss(self, batch: Batch) -> torch.Tensor:
        """Mean loss over the tokens of a batch; every token but each row's first is predicted once."""
        ids = put(torch.from_numpy(batch.ids), self.device)
        apart = keep_apart(batch.positions, self.device, flash=self.has_flash, compiled=self.compiled)
        loss: torch.Tensor = self.model(input_ids=ids[:, :-1], targets=ids[:, 1:], **apart)
        return loss
