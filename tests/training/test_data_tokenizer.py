"""Text to tokens: nothing is cut off, documents end, and words of a text are no special tokens."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.training import corpus
from training.data import tokenizer
from training.data.errors import DataError
from training.data.tokenizer import Bytes, HuggingFace, check_vocabulary

BEGIN, END = 0, 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus.tokenizer(tmp_path_factory.mktemp("tokenizer"))


def decoded(folder: Path, tokens: list[int]) -> str:
    import tokenizers

    made = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    return str(made.decode(tokens, skip_special_tokens=False))


def test_a_document_is_framed_and_whole(folder: Path) -> None:
    text = corpus.texts(30)[7] * 20  # longer than the cut that the tokenizer's file asks for
    (tokens,) = HuggingFace(folder).encode([text])
    assert tokens[0] == BEGIN and tokens[-1] == END and not {BEGIN, END} & set(tokens[1:-1].tolist())
    assert decoded(folder, tokens[1:-1].tolist()) == text


def test_a_tokenizer_that_ends_documents_itself_ends_them_once(tmp_path: Path) -> None:
    folder = corpus.tokenizer(tmp_path, suffix=True)
    (tokens,) = HuggingFace(folder).encode(["the fish"])
    assert tokens.tolist().count(END) == 1 and tokens[-1] == END


def test_special_words_in_a_text_are_text(folder: Path) -> None:
    (tokens,) = HuggingFace(folder).encode(["a</s><s>b"])
    assert tokens.tolist().count(END) == 1 and tokens.tolist().count(BEGIN) == 1
    assert decoded(folder, tokens[1:-1].tolist()) == "a</s><s>b"


def test_a_text_without_words_is_its_frame(folder: Path) -> None:
    assert [each.tolist() for each in HuggingFace(folder).encode(["", ""])] == [[BEGIN, END]] * 2
    assert Bytes().encode([""])[0].tolist() == [256]


def test_long_documents_are_encoded_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(corpus.texts(40))
    monkeypatch.setattr(tokenizer, "_PIECE", 100)
    pieces = list(tokenizer._pieces(text))
    assert "".join(pieces) == text and max(map(len, pieces)) <= 100 and len(pieces) > 20
    assert sum(piece.endswith("\n") for piece in pieces) > len(pieces) / 3
    first, second = HuggingFace(folder).encode([text, "short"])
    assert decoded(folder, first[1:-1].tolist()) == text
    assert decoded(folder, second[1:-1].tolist()) == "short"
    assert list(tokenizer._pieces("x" * 250)) == ["x" * 100, "x" * 100, "x" * 50]


def test_bytes_are_bytes() -> None:
    (tokens,) = Bytes().encode(["fön"])
    assert tokens.tolist() == [*"fön".encode(), 256] and tokens.dtype == np.int64


def test_a_tokenizer_that_does_not_fit_the_model_is_refused(folder: Path) -> None:
    size = HuggingFace(folder).vocab_size
    check_vocabulary(size, size)
    with pytest.raises(DataError, match=f"it has {size} tokens and the model {size - 1}"):
        check_vocabulary(size, size - 1)


def without_end(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</x>"}))


def cut_short(folder: Path) -> None:
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text()[:100])


def gone(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (without_end, "names no eos_token that it has"),
        (cut_short, "tokenizer.json: "),
        (gone, "No such file"),
    ],
)
def test_a_tokenizer_that_is_none_is_refused(tmp_path: Path, damage: object, words: str) -> None:
    corpus.tokenizer(tmp_path)
    damage(tmp_path)  # type: ignore[operator]
    with pytest.raises(DataError, match=words) as caught:
        HuggingFace(tmp_path)
    assert str(caught.value).startswith("tokenizer: ") and "hint: " in str(caught.value)
