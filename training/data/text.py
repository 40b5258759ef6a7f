"""One text file whose bytes are the tokens: read in place, whole from the start, one document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from training.data.batch import Ints

SHIPPED = Path(__file__).parent / "complete-angler.txt"
NUM_TOKENS = 256


class ByteText:
    """The bytes of a file as tokens 0 to 255. Raises OSError."""

    def __init__(self, path: Path) -> None:
        empty = not path.stat().st_size  # which cannot be mapped
        self._bytes: npt.NDArray[np.uint8] = (
            np.empty(0, dtype=np.uint8) if empty else np.memmap(path, dtype=np.uint8, mode="r")
        )
        self.name = str(path)

    @property
    def complete(self) -> bool:
        """A file does not grow."""
        return True

    def watch(self) -> Callable[[], None]:
        """A file does not grow."""
        return lambda: None

    def __len__(self) -> int:
        return len(self._bytes)

    def tokens(self, start: int, stop: int) -> Ints:
        """The tokens from start to stop."""
        return self._bytes[start:stop].astype(np.int64)

    def beginnings(self, start: int, stop: int) -> Ints:
        """The file is one document, which begins at 0."""
        return np.arange(start, min(stop, 1))
