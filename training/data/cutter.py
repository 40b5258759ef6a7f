"""Rows of text to shards of tokens, from any place of the stream; the same tokens wherever it begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from training.data.batch import Ints
from training.data.shards import Place, Shard
from training.data.sources import text_of
from training.data.tokenizer import Tokenizer
from training.hashing import Digest

_ROWS = 256  # rows encoded at once


@dataclass(frozen=True)
class Made:
    """A shard that is not on the disk yet."""

    content: bytes
    shard: Shard


@dataclass(frozen=True)
class _Document:
    """What is left of a row's tokens, and where it stands in the stream."""

    tokens: Ints
    begins: bool
    state: Mapping[str, Any] | None
    row: int
    used: int
    empty: bool


class Cutter:
    """Cuts shards from a stream of rows (an IterableDataset), from a place on.

    `counted` are the rows, and those without text, before that place.
    """

    def __init__(
        self,
        rows: Any,
        column: str,
        tokenizer: Tokenizer,
        dtype: np.dtype[Any],
        place: Place,
        counted: tuple[int, int],
    ) -> None:
        self._rows = rows
        self._column = column
        self._tokenizer = tokenizer
        self._dtype = dtype
        self._counted = counted
        self._documents = self._read(place)
        self._rest: _Document | None = None

    def next_shard(self, size: int) -> Made | None:
        """The next `size` tokens, fewer at the end of the stream; None when there are none."""
        blocks, marks, filled, place = [], [], 0, None
        while filled < size and (document := self._take()) is not None:
            if document.begins:
                marks.append(filled)
            part = document.tokens[: size - filled]
            blocks.append(part.astype(self._dtype))
            filled += len(part)
            place = self._leave(document, len(part))
        if place is None:
            return None
        content = b"".join(block.tobytes() for block in blocks) + np.array(marks, dtype="<i4").tobytes()
        return Made(content, self._shard(content, filled, len(marks), place))

    def _shard(self, content: bytes, tokens: int, beginnings: int, place: Place) -> Shard:
        return Shard(
            tokens=tokens,
            beginnings=beginnings,
            size=len(content),
            xxh3=Digest(content).hexdigest(),
            rows=self._counted[0],
            empty_rows=self._counted[1],
            next=place,
        )

    def _take(self) -> _Document | None:
        if (rest := self._rest) is not None:
            self._rest = None
            return rest
        return next(self._documents, None)

    def _leave(self, document: _Document, used: int) -> Place:
        """Keep what a shard had no room for; count a row that is used up."""
        total = document.used + used
        if used < len(document.tokens):
            self._rest = _Document(
                document.tokens[used:], False, document.state, document.row, total, document.empty
            )
            return Place(state=document.state, rows=document.row, tokens=total)
        self._counted = (self._counted[0] + 1, self._counted[1] + document.empty)
        return Place(state=document.state, rows=document.row + 1, tokens=0)

    def _read(self, place: Place) -> Iterator[_Document]:
        """Documents from a place on; the first one may be the rest of one."""
        if place.state is not None:
            self._rows.load_state_dict(dict(place.state))
        rows = iter(self._rows)
        skipped, used = place.rows, place.tokens
        state = place.state
        while texts := [text_of(row, self._column) for row in islice(rows, skipped + _ROWS)]:
            for number, tokens in enumerate(self._tokenizer.encode(texts[skipped:]), skipped):
                yield _Document(tokens[used:], used == 0, state, number, used, not texts[number])
                used = 0
            skipped = 0
            state = self._rows.state_dict()
