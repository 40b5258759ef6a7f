"""What one rank reads, step by step: its batches, how long it waits for them, and when there are no more."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from training.config import JobConfig
from training.data.batch import Batch
from training.data.errors import TooLittleText
from training.data.samples import Samples
from training.phases import Phases
from training.words import counted


class Feed:
    """The samples of a run as one of its ranks reads them. `used` counts those of all ranks so far."""

    def __init__(self, samples: Samples, config: JobConfig, rank: int, world: int, phases: Phases) -> None:
        self.per_step = config.train_batch_size * config.gradient_accumulation * world
        """Samples of a step, over all ranks."""
        self.asked = 0.0
        """When the step's data was asked for, by time.perf_counter."""
        self._samples = samples
        self._config = config
        self._rank, self._world = rank, world
        self._phases = phases
        self._waited_before = 0.0
        self._document_lengths: list[float] = []

    def check_suffices(self) -> None:
        """A run without a single step would end as done; it must not start. Raises TooLittleText."""
        epochs = self._config.num_epochs
        if self._samples.holds(self.per_step, epochs):
            return
        available = epochs * (self._samples.num_samples or 0)
        raise TooLittleText(
            f"dataset: {counted(available, 'sample')} in {counted(epochs, 'epoch')} cannot fill one step of "
            f"{self.per_step:,} on {counted(self._world, 'rank')}",
            "lower context_length, or give a longer text as dataset",
        )

    def holds_a_step(self, used: int) -> bool:
        """Whether the epochs hold another step, which must be full. Waits for data that is being written."""
        self.asked, self._waited_before = time.perf_counter(), self._phases.seconds["data"]
        with self._phases.within("data"):
            return self._samples.holds(used + self.per_step, self._config.num_epochs)

    def batches(self, used: int) -> Iterator[Batch]:
        """This rank's batches of one step; more ranks instead of more batches would read the same samples."""
        size = self._config.train_batch_size
        self._document_lengths.clear()
        for number in range(self._config.gradient_accumulation):
            with self._phases.within("data"):
                batch = self._samples.batch(used + number * size * self._world, size, self._rank)
            self._document_lengths.append(batch.document_length)
            yield batch

    def validation(self, num_batches: int) -> Iterator[tuple[Batch, int]]:
        """See Samples."""
        return self._samples.validation(self._config.val_batch_size, num_batches, self._rank, self._world)

    @property
    def waited(self) -> float:
        """Seconds of waiting since the step's data was asked for."""
        return self._phases.seconds["data"] - self._waited_before

    @property
    def document_length(self) -> float:
        """Of the step's batches: see Batch."""
        return statistics.fmean(self._document_lengths)

    def used_up(self, used: int) -> str:
        """Why a run ends before num_steps, and what the last epoch has left that fills no step."""
        epochs = self._config.num_epochs
        left = epochs * (self._samples.num_samples or 0) - used
        words = f"num_epochs: the text's {counted(epochs, 'epoch')} {'is' if epochs == 1 else 'are'} used up"
        if not left:
            return words
        return f"{words}; {counted(left, 'sample')} of the last epoch cannot fill a step of {self.per_step:,}"
