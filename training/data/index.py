"""Reading a tokenised index in place, also while its writer is still at it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from training.data import shards
from training.data.batch import Ints
from training.data.errors import DataError

STALE_SECONDS = 120.0
"""A writer whose beat has not changed for so long is gone."""
_OPEN_SHARDS = 64


class Index:
    """Reads an index that may be growing. Raises DataError for one that cannot be used."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.source = shards.read_source(directory)
        self.name = self.source.dataset
        self._shards: list[shards.Shard] = []
        self._complete = False
        self._open = lru_cache(maxsize=_OPEN_SHARDS)(self._map)
        self._sound: set[int] = set()
        self.refresh()

    @property
    def complete(self) -> bool:
        """Whether the stream has ended."""
        return self._complete

    def __len__(self) -> int:
        last = len(self._shards) - 1
        return self._before(last) + self._shards[last].tokens if self._shards else 0

    def refresh(self) -> None:
        """Look for shards that have been committed, or made anew, since."""
        total = shards.read_total(self.directory)  # asked first: the last shard is there then
        while (shard := shards.read_sound(self.directory, len(self._shards))) is not None:
            self._shards.append(shard)
        self._complete = total == len(self._shards)

    def watch(self) -> Callable[[], None]:
        """A look at what has come meanwhile. It raises DataError if nothing has and nobody writes."""
        patience = _Patience(self.directory)

        def look() -> None:
            before = len(self._shards)
            self.refresh()
            if not self.complete and len(self._shards) == before:
                patience.hear_the_writer()

        return look

    def tokens(self, start: int, stop: int) -> Ints:
        """The tokens from start to stop."""
        parts = [self._open(number)[0][low:high] for number, low, high in self._parts(start, stop)]
        return np.concatenate(parts).astype(np.int64)

    def beginnings(self, start: int, stop: int) -> Ints:
        """Numbers, ascending, of the tokens from start to stop that begin a document."""
        found = []
        for number, low, high in self._parts(start, stop):
            marks = self._open(number)[1]
            first, last = np.searchsorted(marks, (low, high))
            found.append(marks[first:last].astype(np.int64) + self._before(number))
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def _parts(self, start: int, stop: int) -> list[tuple[int, int, int]]:
        """Shard, and first and last of its tokens, for each shard that holds tokens from start to stop."""
        size = self.source.shard_tokens
        return [
            (number, max(start - number * size, 0), min(stop - number * size, size))
            for number in range(start // size, -(-stop // size))
        ]

    def _before(self, number: int) -> int:
        return number * self.source.shard_tokens

    def _map(self, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
        """Tokens and beginnings of a shard, in place. A process reads each through once to compare."""
        shard, path = self._shards[number], shards.shard_path(self.directory, number)
        if number not in self._sound:
            if (fault := shards.fault_of(path, shard)) is not None:
                shards.set_aside(path)
                hint = "it is set aside; start the job again, and its writer makes it anew"
                raise DataError(f"{path}: {fault}", hint)
            self._sound.add(number)
        tokens = np.memmap(path, dtype=self.source.dtype, mode="r", shape=(shard.tokens,))
        offset = tokens.nbytes
        if not shard.beginnings:  # which cannot be mapped
            return tokens, np.empty(0, dtype=np.int32)
        return tokens, np.memmap(path, dtype="<i4", mode="r", offset=offset, shape=(shard.beginnings,))


class _Patience:
    """How long one who waits goes without a sign of the writer."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._beat, self._changed = "", time.monotonic()

    def hear_the_writer(self) -> None:
        """Raises DataError where it has failed or is gone."""
        status = shards.read_status(self._directory)
        if status.get("state") == "failed":
            raise DataError(status.get("message", "the index writer failed"), status.get("hint", ""))
        if str(status) != self._beat:
            self._beat, self._changed = str(status), time.monotonic()
        if time.monotonic() - self._changed > STALE_SECONDS:
            hint = "start the job again; only its first rank writes the index"
            raise DataError(f"{self._directory}: nobody has written for {STALE_SECONDS:.0f} s", hint)
