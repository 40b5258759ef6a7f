"""Text to tokens: bytes, or the tokenizer.json of a Hugging Face model.

Every document begins and ends with what the tokenizer's own rules put there; an end-of-document token is
added where they put none. Words in a text that look like special tokens are text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from training.data.batch import Ints
from training.data.errors import DataError

BYTES = "bytes"
_PIECE = 1 << 20  # characters encoded at once: the library's memory grows with the text


class Tokenizer(Protocol):
    """Turns documents into tokens below `vocab_size`. `hash` tells one tokenizer from another."""

    vocab_size: int
    hash: str

    def encode(self, texts: Sequence[str]) -> list[Ints]:
        """The tokens of each document; never empty."""
        ...


class Bytes:
    """The bytes of a text, 0 to 255, and 256 at the end of a document."""

    vocab_size = 257
    hash = "bytes"

    def encode(self, texts: Sequence[str]) -> list[Ints]:
        """The tokens of each document."""
        blocks = (np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8) for text in texts)
        return [np.append(block.astype(np.int64), 256) for block in blocks]


class HuggingFace:
    """The tokenizer in a directory. Raises DataError where it is none that training can use."""

    def __init__(self, directory: Path) -> None:
        import tokenizers  # a restart waits for imports, and ranks need none

        path = directory / "tokenizer.json"
        try:
            content = path.read_bytes()
            self._tokenizer = tokenizers.Tokenizer.from_buffer(content)
        except OSError as error:
            hint = "give the directory of a Hugging Face tokenizer, or its name on the hub, as tokenizer"
            raise DataError(f"tokenizer: {path}: {error.strerror}", hint) from None
        except Exception as error:  # the library raises no narrower one
            raise DataError(f"tokenizer: {path}: {error}", "give a tokenizer.json that is whole") from None
        self._tokenizer.no_truncation()  # a file may carry settings that cut or fill texts up
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self._prefix, suffix = self._frame()
        self._suffix = suffix or [self._end(directory)]
        self.vocab_size = max(self._tokenizer.get_vocab(with_added_tokens=True).values()) + 1
        self.hash = hashlib.sha256(content + bytes(str(self._suffix), "ascii")).hexdigest()[:16]

    def encode(self, texts: Sequence[str]) -> list[Ints]:
        """The tokens of each document. Long ones are encoded in pieces that end at ends of lines."""
        split = [list(_pieces(text)) for text in texts]
        flat = [piece for pieces in split for piece in pieces]
        encoded = iter(self._tokenizer.encode_batch_fast(flat, add_special_tokens=False))
        found = []
        for pieces in split:
            middle = [next(encoded).ids for _piece in pieces]
            found.append(np.concatenate([self._prefix, *middle, self._suffix]).astype(np.int64))
        return found

    def _frame(self) -> tuple[list[int], list[int]]:
        """What the tokenizer's own rules put before and behind a text."""
        encoding = self._tokenizer.encode("a")
        text = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
        if not text:
            raise DataError("tokenizer: it makes no token of the letter a", "give one that was trained")
        return encoding.ids[: text[0]], encoding.ids[text[-1] + 1 :]

    def _end(self, directory: Path) -> int:
        number = self.special_token(directory, "eos_token")
        if number is None:
            path = directory / "tokenizer_config.json"
            hint = f'write {{"eos_token": "</s>"}} there, with the end-of-document token of {directory.name}'
            raise DataError(f"tokenizer: {path} names no eos_token that it has", hint)
        return number

    def special_token(self, directory: Path, key: str) -> int | None:
        """The number of a token by tokenizer_config.json, which tells its text; None where it does not."""
        try:
            content = (directory / "tokenizer_config.json").read_text(encoding="utf-8")
            named: Any = json.loads(content).get(key)
        except (OSError, ValueError, AttributeError):
            return None
        text = named.get("content") if isinstance(named, dict) else named
        return self._tokenizer.token_to_id(text) if isinstance(text, str) else None


def check_vocabulary(found: int, of_model: int) -> None:
    """Raise DataError where there are tokens that the model has no embedding for."""
    if found > of_model:
        raise DataError(
            f"tokenizer: it has {found} tokens and the model {of_model}",
            "give the tokenizer of the model, or set vocab_size with `weights: scratch`",
        )


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PIECE:
        stop = text.rfind("\n", start, start + _PIECE) + 1 or start + _PIECE
        yield text[start:stop]
        start = stop
    yield text[start:]
