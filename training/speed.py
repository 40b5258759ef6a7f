"""How fast each rank computes, without what it waits for others: by that a slow rank is found.

A step takes equally long on all ranks, since they wait for each other in its collectives. The time inside
the layers' forward pass holds none of these: FSDP gathers a layer's weights before it, and a timer that is
hooked in after FSDP begins when they are there.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

_SLOW = 1.5
_LEAST_SECONDS = 0.02  # less a step is noise


@dataclass(frozen=True)
class Slow:
    """A rank that computes slower than the others."""

    rank: int
    seconds: float
    """A step's forward pass."""
    median: float

    def __str__(self) -> str:
        ratio = self.seconds / self.median if self.median > 0 else float("inf")
        return (
            f"Rank {self.rank} is slow: its forward pass takes {self.seconds:.3f} s a step, {ratio:.1f} "
            f"times the median of {self.median:.3f} s"
        )


def slow_ranks(seconds: list[float]) -> list[Slow]:
    """Ranks that take more than 1.5 times the median, by enough to matter; the list is by rank."""
    median = statistics.median_low(seconds)  # of two ranks the faster one: half of them may be slow
    limit = max(_SLOW * median, median + _LEAST_SECONDS)
    return [Slow(rank, spent, median) for rank, spent in enumerate(seconds) if spent > limit]


class ForwardTimer:
    """Sums up the time in the given layers while they train."""

    def __init__(self, layers: Iterable[nn.Module], device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._began = 0.0
        self._seconds = 0.0
        self._marks: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()
        self._open: torch.cuda.Event | None = None
        for layer in layers:
            layer.register_forward_pre_hook(self._begin)  # after FSDP's, which comes first
            layer.register_forward_hook(self._end, prepend=True)  # before FSDP's

    def take(self) -> float:
        """Seconds since the last call, as far as the GPU has come; it is not waited for."""
        while self._marks and self._marks[0][1].query():  # type: ignore[no-untyped-call]  # torch has no type
            begin, end = self._marks.popleft()
            self._seconds += begin.elapsed_time(end) / 1000
        taken, self._seconds = self._seconds, 0.0
        return taken

    def _begin(self, module: nn.Module, _inputs: object) -> None:
        if not module.training:
            return
        self._began = time.perf_counter()
        if self._on_gpu:
            self._open = _event()
            self._open.record()

    def _end(self, module: nn.Module, _inputs: object, _output: object) -> None:
        if not module.training:
            return
        if self._open is None:
            self._seconds += time.perf_counter() - self._began
            return
        end = _event()
        end.record()
        self._marks.append((self._open, end))
        self._open = None


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch has no type here
