"""Rows of exactly the context length cut from a stream of tokens, and where documents begin in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Stream(Protocol):
    """Tokens of documents one after the other, addressed by their number in the stream; it may be growing."""

    name: str

    @property
    def complete(self) -> bool:
        """Whether no token will follow."""
        ...

    def __len__(self) -> int:
        """Tokens that can be read by now."""
        ...

    def watch(self) -> Callable[[], None]:
        """A look at what has come meanwhile, for one who begins to wait; it raises DataError once nothing
        will."""
        ...

    def tokens(self, start: int, stop: int) -> Ints:
        """The tokens from start to stop."""
        ...

    def beginnings(self, start: int, stop: int) -> Ints:
        """Numbers, ascending, of the tokens from start to stop that begin a document."""
        ...


@dataclass(frozen=True)
class Batch:
    """What a rank reads at once.

    `ids` has shape (rows, length + 1): the first `length` are read, all but the first are predicted.
    `positions` has shape (rows, length): where each token read stands in its document, counted from 0 also
    where a row begins inside one. None says that each row belongs to one document.
    """

    ids: Ints
    positions: Ints | None

    @property
    def document_length(self) -> float:
        """Mean, over the tokens that are read, of the length that each one's document has in its row."""
        if self.positions is None:
            return float(self.ids.shape[1] - 1)
        return 2 * float(self.positions.mean()) + 1  # since positions up to n - 1 add up to n (n - 1) / 2


def cut(stream: Stream, numbers: Iterable[int], length: int, masking: bool) -> Batch:
    """Rows by number: row n begins at token n * length; neighbours share a token, so that each token is
    predicted once. `masking` keeps documents apart."""
    starts = [number * length for number in numbers]
    ids = np.stack([stream.tokens(start, start + length + 1) for start in starts])
    if not masking:
        return Batch(ids, None)
    inside = [stream.beginnings(start + 1, start + length) - start for start in starts]
    if not any(map(len, inside)):
        return Batch(ids, None)
    return Batch(ids, np.stack([_positions(each, length) for each in inside]))


def _positions(inside: Ints, length: int) -> Ints:
    starts = np.concatenate(([0], inside))
    lengths = np.diff(np.append(starts, length))
    return np.arange(length, dtype=np.int64) - np.repeat(starts, lengths).astype(np.int64)
