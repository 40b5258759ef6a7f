"""Which sample each rank reads at each step.

A sample is addressed by one global index: sample = f(seed, epoch, index). The loader therefore has no state
but the number of samples used so far; any number of ranks can go on from it, and each sample is used once
an epoch. Where the numbers of a batch come from lives here; moving them to a device does not.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from training.data.batch import Batch, Stream, cut
from training.data.errors import DataError, TooLittleText
from training.data.order import Order
from training.data.waiting import Wait, alone

_VALIDATION_SHARE = 20  # one sample in 20 is kept for validation
_ALL = 2**62


@dataclass(frozen=True, kw_only=True)
class Cut:
    """How samples are made of a stream of tokens."""

    length: int
    """Tokens read in a sample."""
    seed: int
    window: int | None
    """Samples shuffled among themselves; None: all, and the last ones are for validation. With a number the
    first ones are, since the last are not known while a stream grows."""
    num_validation: int | None = None
    """Samples kept for validation; None: one in 20 of a window."""
    masking: bool = True
    """Documents are kept apart."""


class Samples:
    """Samples of `length` + 1 tokens; neighbours share one token, so that every token is predicted once.

    Waits for the first window of a stream that grows. Raises TooLittleText when there is no sample for
    validation or none to train on.

    With `wait`, ranks wait together: all make it, and ask what it `holds`, at the same moments.
    """

    def __init__(self, stream: Stream, how: Cut, wait: Wait = alone) -> None:
        self._stream = stream
        self._how = how
        self._wait = wait
        self._everywhere = 0
        self.looking: threading.Thread | None = None
        if how.window is not None:
            self._wait_for(how.window)
        whole = self._total if how.window is None else min(self._total, how.window)
        self.num_validation = how.num_validation or max(1, whole // _VALIDATION_SHARE)
        window = how.window or max(1, self._total - self.num_validation)
        self._order = Order(how.seed, window)
        known = self.num_samples
        self._first_validation = 0 if how.window is not None else known or 0
        self._first = self.num_validation if how.window is not None else 0

    @property
    def num_samples(self) -> int | None:
        """Samples of an epoch; None while the stream grows. Raises TooLittleText."""
        if not self._stream.complete:
            return None
        count = self._total - self.num_validation
        if count < 1:
            raise TooLittleText(
                f"{self._stream.name}: {len(self._stream)} tokens do not make two samples of "
                f"{self._how.length}"
                + (f" with {self.num_validation} for validation" if self.num_validation > 1 else ""),
                "lower context_length or give a longer text as dataset",
            )
        return count

    def holds(self, until: int, epochs: int) -> bool:
        """Whether so many epochs hold `until` samples; the same answer on every rank, whenever it asks.

        Waits while a stream that grows cannot tell; those samples can be read without waiting then.
        """
        if until < 1:
            return True
        self._wait_for(self._needed(until - 1))
        known = self.num_samples
        return known is None or until <= epochs * known

    def batch(self, used: int, batch_size: int, rank: int) -> Batch:
        """What a rank reads next when `used` samples are used up."""
        first = used + rank * batch_size
        numbers = [self._first + self.sample_at(first + i) for i in range(batch_size)]
        batch = cut(self._stream, numbers, self._how.length, self._how.masking)
        if self._how.window is not None:
            self._look_ahead(first + self._order.window, batch_size)
        return batch

    def _look_ahead(self, first: int, count: int) -> None:
        """Read in the background what comes a window later: a file is compared with its hash, and is in the
        machine's memory, before a step waits for it."""
        ready = self._stream.complete or self._total >= self._needed(first + count)
        if ready and not (self.looking is not None and self.looking.is_alive()):
            numbers = [self._first + self._number(first + i) for i in range(count)]
            self.looking = threading.Thread(target=self._touch, args=(numbers,), daemon=True)
            self.looking.start()

    def _touch(self, numbers: list[int]) -> None:
        with contextlib.suppress(DataError):  # the step that needs it says so
            cut(self._stream, numbers, self._how.length, masking=True)

    def sample_at(self, index: int) -> int:
        """Number of the sample at a global index; each number comes once in `num_samples` indices."""
        self._wait_for(self._needed(index))
        return self._number(index)

    def _number(self, index: int) -> int:
        known = self.num_samples
        epoch, place = (0, index) if known is None else divmod(index, known)
        return self._order.at(epoch, place, known)

    def validation(
        self, batch_size: int, num_batches: int, rank: int, world: int
    ) -> Iterator[tuple[Batch, int]]:
        """A rank's part of the validation, the same each time: batches, and how many rows of each count.

        Each sample counts once, whatever the number of ranks. All have equally many batches; one that has
        no sample left for its last batch reads a row that does not count.
        """
        wanted = min(num_batches * batch_size * world, self.num_validation)
        self._wait_for(self.num_validation)
        for begin in range(0, wanted, batch_size * world):
            first = begin + rank * batch_size
            numbers = range(first, min(first + batch_size, wanted))
            rows = [self._first_validation + number for number in numbers or [0]]
            yield cut(self._stream, rows, self._how.length, self._how.masking), len(numbers)

    @property
    def description(self) -> str:
        """One line for the log: how many samples, and what is left over."""
        kept = f"{self.num_validation} for validation"
        known = self.num_samples
        if known is None:
            return f"{self._stream.name}: {self._total} samples of {self._how.length} tokens so far, {kept}"
        left = len(self._stream) - 1 - self._total * self._how.length
        text = f"{self._stream.name}: {known} samples of {self._how.length} tokens and {kept}"
        return text + f"; {left} tokens at the end fill no sample"

    @property
    def _total(self) -> int:
        return max(0, (len(self._stream) - 1) // self._how.length)

    def _needed(self, index: int) -> int:
        """Samples the stream must have before the one at an index is known."""
        window = self._order.window
        return self.num_validation + (index // window + 1) * window

    def _wait_for(self, total: int) -> None:
        """Until there are so many samples, for all who wait, or no more will come."""
        if self._everywhere >= total:
            return
        look = self._stream.watch()
        what = f"{total} samples of {self._stream.name}"
        self._everywhere = self._wait(lambda: self._count(total, look), total, what)

    def _count(self, total: int, look: Callable[[], None]) -> int:
        if not self._stream.complete and self._total < total:
            look()
        return _ALL if self._stream.complete else self._total
