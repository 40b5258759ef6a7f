"""The text as tokens, and which sample each rank reads at each step.

A sample is addressed by one global index: sample = f(seed, epoch, index). The loader therefore has no state
but the number of samples used so far; any number of ranks can go on from it, and each sample is used once
an epoch. Where the numbers of a batch come from lives here; moving them to a device does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

SHIPPED = Path(__file__).parent / "complete-angler.txt"
NUM_BYTE_TOKENS = 256
_VALIDATION_SHARE = 20  # one sample in 20, at the end of the text, is kept for validation

Tokens = npt.NDArray[np.int64]


class TooLittleText(ValueError):
    """The text does not hold enough samples to train and validate on."""


class SampleIndex:
    """Samples of `context_length` + 1 tokens; neighbours share one token, so that every token is predicted
    once.

    Tokens are the bytes of the text (0 to 255). Raises TooLittleText when there is no sample for
    validation.
    """

    def __init__(self, path: Path, context_length: int, seed: int) -> None:
        self._bytes = np.fromfile(path, dtype=np.uint8)
        self._context_length = context_length
        self._seed = seed
        total = max(0, (len(self._bytes) - 1) // context_length)
        self.num_validation = max(1, total // _VALIDATION_SHARE)
        self.num_samples = total - self.num_validation
        self.num_tokens_left_over = len(self._bytes) - 1 - total * context_length
        if self.num_samples < 1:
            raise TooLittleText(
                f"{path}: {len(self._bytes)} tokens do not make two samples of {context_length}\n"
                "  hint: lower context_length or give a longer text as dataset"
            )
        self._order: tuple[int, npt.NDArray[np.int64]] = (-1, np.empty(0, dtype=np.int64))

    def batch(self, used: int, batch_size: int, rank: int, world: int) -> Tokens:
        """What a rank reads next when `used` samples are used up; shape (batch_size, length + 1)."""
        first = used + rank * batch_size
        return np.stack([self._sample(self.sample_at(first + i)) for i in range(batch_size)])

    def sample_at(self, index: int) -> int:
        """Number of the sample at a global index; each number comes once in `num_samples` indices."""
        epoch, position = divmod(index, self.num_samples)
        if self._order[0] != epoch:
            generator = np.random.Generator(np.random.PCG64([self._seed, epoch]))
            self._order = (epoch, generator.permutation(self.num_samples))
        return int(self._order[1][position])

    def validation(self, batch_size: int, num_batches: int, rank: int, world: int) -> Iterator[Tokens]:
        """The same validation batches each time; they start again when there are fewer than asked for."""
        for batch in range(num_batches):
            first = (batch * world + rank) * batch_size
            numbers = [self.num_samples + (first + i) % self.num_validation for i in range(batch_size)]
            yield np.stack([self._sample(number) for number in numbers])

    def _sample(self, number: int) -> Tokens:
        start = number * self._context_length
        return self._bytes[start : start + self._context_length + 1].astype(np.int64)


def text_path(dataset: str, base: Path) -> Path:
    """The file behind a job's `dataset`; relative paths start at the job file's folder."""
    return SHIPPED if dataset == "shipped" else base / dataset
