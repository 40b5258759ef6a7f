"""A checkpoint knows the text it was trained on: in another one its count of samples means other samples."""

from __future__ import annotations

import re
from pathlib import Path

from tests.training import corpus, ranks
from tests.training.conftest import write_job


def test_a_text_that_has_grown_is_refused_by_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(range(200)) * 40)
    directory = write_job(tmp_path, dataset="./text", num_steps=4, validate_every=0)
    assert ranks.train(directory, 2) == [0, 0]
    (tmp_path / "text").write_bytes(bytes(range(200)) * 41)
    write_job(tmp_path, dataset="./text", num_steps=8, validate_every=0)
    assert ranks.train(directory, 2) == [1, 1]
    assert "made with other settings: size of the dataset was 8000 and is 8200" in ranks.log(directory)
    assert not (directory / "checkpoints" / "set-aside").exists()


def test_an_index_that_was_made_anew_of_other_files_is_refused(tmp_path: Path) -> None:
    job = {"dataset": "./texts", "num_steps": 4, "validate_every": 0, "shuffle_window": 64}
    corpus.jsonl(tmp_path / "texts" / "a.jsonl", corpus.texts(400))
    directory = write_job(tmp_path, **job)
    assert ranks.train(directory, 2) == [0, 0], ranks.log(directory)
    corpus.jsonl(tmp_path / "texts" / "a.jsonl", corpus.texts(500))
    write_job(tmp_path, **job | {"num_steps": 8, "index_directory": "elsewhere"})
    assert ranks.train(directory, 2) == [1, 1]
    said = r"made with other settings: revision of the dataset was \"\w+\" and is \"\w+\""
    assert re.search(said, ranks.log(directory))
