"""The loss on text that is not trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist

from training.data.batch import Batch
from training.step import Stepper
from training.stop import Stop


def evaluate(
    stepper: Stepper, batches: Iterable[tuple[Batch, int]], after_batch: Callable[[], Stop | None]
) -> tuple[float, Stop | None]:
    """Mean loss over the samples of all ranks' batches; the number beside a batch says how many of its rows
    count. Draws nothing from the random state: dropout is off.

    `after_batch` is a collective; evaluation ends with the batch after which it says to stop.
    """
    stepper.model.eval()
    loss, count, stop = torch.zeros((), dtype=torch.float64, device=stepper.device), 0, None
    with torch.no_grad():
        for batch, rows in batches:
            loss += rows * stepper.loss(batch)
            count += rows
            if stop := after_batch():
                break
    stepper.model.train()
    sums = torch.stack([loss, torch.full_like(loss, count)])
    dist.all_reduce(sums)
    total, samples = sums.tolist()
    return total / samples, stop
