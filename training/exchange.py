"""What the ranks tell each other after each step, in one small collective, without waiting for the GPU.

On a GPU the answer is read one step later: by then it has long arrived, and the processor is always a step
ahead of the GPU. All ranks read the same answers at the same step, so what they decide by them is the same.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import astuple, dataclass

import torch
import torch.distributed as dist

from training.device import put
from training.stop import Stop, first_wish


@dataclass(frozen=True)
class Words:
    """What one rank says about a step, beside its loss and the norm."""

    wish: int
    """A number of training.stop."""
    forward_s: float
    """Its own time in the layers' forward pass, by its last comparison window; 0 where not known."""
    data_wait_s: float
    document_length: float
    """See Batch."""


@dataclass(frozen=True)
class Answer:
    """What all ranks said about a step; lists are by rank."""

    step: int
    arrived: float
    """When, by time.perf_counter."""
    losses: list[float]
    grad_norm: float
    wishes: list[int]
    forward_s: list[float]
    data_wait_s: list[float]
    document_lengths: list[float]

    @property
    def document_length(self) -> float:
        """Mean over the ranks."""
        return math.fsum(self.document_lengths) / len(self.document_lengths)

    @property
    def loss(self) -> float:
        """Mean over the ranks."""
        return math.fsum(self.losses) / len(self.losses)

    @property
    def stop(self) -> Stop | None:
        """Whether to stop after this step, and why."""
        return first_wish(self.wishes)


class Exchange:
    """One all-gather a step. With `late`, answers come one step later."""

    def __init__(self, device: torch.device, *, late: bool) -> None:
        self._device = device
        self._world = dist.get_world_size()
        self._late = late
        self._under_way: deque[tuple[int, torch.Tensor, torch.cuda.Event | None]] = deque()

    def send(self, step: int, loss: torch.Tensor, norm: torch.Tensor, words: Words) -> None:
        """Say what this rank knows of a step. A collective; returns before the answer is there."""
        known = torch.tensor(astuple(words), dtype=torch.float64)
        mine = torch.stack([loss.detach().double(), norm.detach().to(self._device).double()])
        mine = torch.cat([mine, put(known, self._device)])
        table = torch.empty(self._world * mine.numel(), dtype=torch.float64, device=self._device)
        dist.all_gather_single(table, mine)
        self._under_way.append((step, *self._brought_back(table.view(self._world, -1))))

    def receive(self, *, everything: bool = False) -> list[Answer]:
        """The answers that are due, oldest first; `everything` also those that must be waited for."""
        kept = 1 if self._late and not everything else 0
        answers = []
        while len(self._under_way) > kept:
            step, table, arrived = self._under_way.popleft()
            if arrived is not None:
                arrived.synchronize()
            answers.append(_answer(step, time.perf_counter(), table.tolist()))
        return answers

    def tell(self, *numbers: int) -> list[list[int]]:
        """Whole numbers of all ranks, by rank; between steps, where waiting does no harm."""
        table = torch.zeros((self._world, len(numbers)), dtype=torch.int64)
        table[dist.get_rank()] = torch.tensor(numbers)
        dist.all_reduce(table)
        found: list[list[int]] = table.tolist()
        return found

    def agree(self, wish: int) -> Stop | None:
        """Whether any rank wishes to stop. As `tell`."""
        return first_wish([other for (other,) in self.tell(wish)])

    def _brought_back(self, table: torch.Tensor) -> tuple[torch.Tensor, torch.cuda.Event | None]:
        if self._device.type != "cuda":
            return table, None
        home = torch.empty(table.shape, dtype=table.dtype, pin_memory=True)
        home.copy_(table, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch has no type here
        arrived.record()
        return home, arrived


def _answer(step: int, arrived: float, rows: list[list[float]]) -> Answer:
    losses, norms, wishes, *words = (list(column) for column in zip(*rows, strict=True))
    return Answer(step, arrived, losses, norms[0], [int(wish) for wish in wishes], *words)
