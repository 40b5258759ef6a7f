"""Texts, rows and a tokenizer for the tests of the data."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORDS = "the angler fish river trout line hook water bait carp pike stream may fly cast net".split()


def texts(count: int, seed: int = 1) -> list[str]:
    """Texts of one to forty words; each one's first word is its number."""
    chance = random.Random(seed)  # noqa: S311  # nothing secret
    return [
        " ".join([f"{number:04d}", *chance.choices(WORDS, k=chance.randint(1, 40))])
        for number in range(count)
    ]


def jsonl(path: Path, lines: Sequence[str | None]) -> Path:
    """A file with one text a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"text": text, "url": "u"}) + "\n" for text in lines))
    return path


def tokenizer(directory: Path, *, suffix: bool = False) -> Path:
    """A byte-level tokenizer of 300 tokens; `<s>` before a text and, with `suffix`, `</s>` behind it."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(texts(50), trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>" if suffix else "<s> $A", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    made.enable_truncation(16)  # as a file may carry them; training must not obey
    made.enable_padding(length=400)
    directory.mkdir(parents=True, exist_ok=True)
    made.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text('{"bos_token": "<s>", "eos_token": {"content": "</s>"}}')
    return directory


class Rows:
    """A stream of rows like an IterableDataset."""

    def __init__(self, lines: Sequence[str | None], column: str = "text") -> None:
        self._lines = lines
        self._column = column
        self._next = 0

    def state_dict(self) -> dict[str, Any]:
        return {"row": self._next}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._next = state["row"]

    def __iter__(self) -> Iterator[dict[str, str | None]]:
        while self._next < len(self._lines):
            self._next += 1
            yield {self._column: self._lines[self._next - 1]}


def as_bytes(lines: Sequence[str | None]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The whole stream as the bytes tokenizer gives it."""
    return np.array([token for text in lines for token in [*(text or "").encode(), 256]])
