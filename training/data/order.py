"""The order in which samples are used: a function of seed and epoch alone.

Samples are shuffled inside windows of neighbours, so that the order of a window is known before the stream
has ended. The first epoch takes the windows as they come; later ones shuffle the windows too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_OF_WINDOWS = 2**32 - 1  # stands for a window's number where the windows themselves are shuffled


@dataclass(frozen=True)
class Order:
    """Which sample comes at a place of an epoch, with `window` samples in a window."""

    seed: int
    window: int

    def at(self, epoch: int, place: int, num_samples: int | None) -> int:
        """Number of the sample. None: more samples are still being added; the window must be whole then.

        Each number below num_samples comes once an epoch. Only the last window may be shorter.
        """
        if num_samples is None or epoch == 0:
            window, inside = divmod(place, self.window)
        else:
            window, inside = self._of_later_epoch(epoch, place, num_samples)
        size = self.window
        if num_samples is not None:
            size = min(size, num_samples - window * self.window)
        return window * self.window + int(_permutation(self.seed, epoch, window, size)[inside])

    def _of_later_epoch(self, epoch: int, place: int, num_samples: int) -> tuple[int, int]:
        """Window and place in it where the windows are shuffled too."""
        count = -(-num_samples // self.window)
        windows = _permutation(self.seed, epoch, _OF_WINDOWS, count)
        missing = count * self.window - num_samples
        before = int(_place_of_last(self.seed, epoch, count)) * self.window  # until the shorter window
        if place >= before + self.window - missing:
            place += missing
        slot, inside = divmod(place, self.window)
        return int(windows[slot]), inside


@lru_cache(maxsize=8)
def _permutation(seed: int, epoch: int, window: int, size: int) -> npt.NDArray[np.int64]:
    generator = np.random.Generator(np.random.PCG64([seed, epoch, window]))
    return generator.permutation(size)


@lru_cache(maxsize=2)
def _place_of_last(seed: int, epoch: int, count: int) -> int:
    return int(np.flatnonzero(_permutation(seed, epoch, _OF_WINDOWS, count) == count - 1)[0])
