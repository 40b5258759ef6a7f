"""The loss on text that is not trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist

from training.data.batch import Batch
from training.step import Stepper
from training.stop import Stop


def evaluate(
    stepper: Stepper, batches: Iterable[Batch], after_batch: Callable[[], Stop | None]
) -> tuple[float, Stop | None]:
    """Mean loss over all ranks' batches. Draws nothing from the random state: dropout is off.

    `after_batch` is a collective; evaluation ends with the batch after which it says to stop.
    """
    stepper.model.eval()
    losses, stop = [], None
    with torch.no_grad():
        for batch in batches:
            losses.append(stepper.loss(batch))
            if stop := after_batch():
                break
    stepper.model.train()
    mean = torch.stack(losses).mean().double()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size(), stop
