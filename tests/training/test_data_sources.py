"""Rows from files and from the hub: resumed at any place, one process asks, and mistakes are one error."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.training import corpus, ranks
from tests.training.answering import ask
from tests.training.conftest import JOB
from tests.training.hub import COMMIT, Hub, serve
from training.words import counted

ROOT = Path(__file__).parents[2]
TEXTS = corpus.texts(400)
SOME = TEXTS[:120]
README = b"""---
configs:
- config_name: en
  data_files:
  - split: train
    path: en/c4-train.*.json.gz
  - split: validation
    path: en/c4-validation.*.json.gz
- config_name: de
  data_files: de/*.json.gz
---
"""


def packed(texts: list[str]) -> bytes:
    return gzip.compress("".join(json.dumps({"text": text, "url": "u"}) + "\n" for text in texts).encode())


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = corpus.tokenizer(tmp_path_factory.mktemp("tokenizer"))
    c4 = {
        "README.md": README,
        "en/c4-train.00000-of-00002.json.gz": packed(TEXTS[:300]),
        "en/c4-train.00001-of-00002.json.gz": packed(TEXTS[300:]),
        "en/c4-validation.00000.json.gz": packed(["never read"]),
        "de/a.json.gz": packed(["nie gelesen"]),
    }
    model = {path.name: path.read_bytes() for path in folder.iterdir()}
    repositories: dict[str, Any] = {"datasets/allenai/c4": c4, "datasets/me/gated": c4, "me/model": model}
    with serve(Hub(repositories, gated={"datasets/me/gated"})) as hub:
        yield hub
    assert hub.unknown == []


def environment(hub: Hub | None, home: Path, **more: str) -> dict[str, str]:
    """Of a process that can reach the stand-in and nothing else of the hub."""
    url = hub.url if hub is not None else "http://127.0.0.1:9"
    return {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **more}


def job(directory: Path, **settings: object) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "job.yaml").write_text(yaml.safe_dump(settings_of(settings)))
    return directory


def settings_of(changes: Mapping[str, object]) -> dict[str, object]:
    c4 = {"dataset": "allenai/c4", "tokenizer": "me/model", "index_shard_tokens": 1000}
    return {**JOB, **c4, **changes}


# Files


SMALL = {"preset": "tiny", "index_shard_tokens": 1700, "context_length": 32}


def resumed_everywhere(folder: Path) -> dict[str, int]:
    """Index the texts of each kind of file, and go on from each place again; how many places there were."""
    from training.config import parse
    from training.data import sources, state
    from training.data.described import describe
    from training.data.writer import Writer

    places = {}
    for name in ("lines", "packed", "table", "documents"):
        described = describe(
            parse(
                {"preset": "tiny", "dataset": f"./{name}", "index_shard_tokens": 1700, "context_length": 32}
            ),
            folder,
        )
        writer = Writer(described, 384)
        writer.run()
        committed = state.committed(described.index)
        stream = np.fromfile(described.index / "shard-000000.bin", dtype="<u2", count=1700)
        assert np.array_equal(stream, corpus.as_bytes(SOME)[:1700]), name
        tokenizer = writer.open()
        for number in range(1, len(committed)):
            again = writer._cutter(tokenizer, committed[:number]).next_shard(1700)
            assert again is not None and again.shard.xxh3 == committed[number].xxh3, (name, number)
        assert sum(shard.tokens for shard in committed) == len(corpus.as_bytes(SOME)), name
        assert len(sources.unread(folder / name)) == (name == "lines")
        places[name] = len(committed)
    return places


def test_every_kind_of_file_is_resumed_at_every_place(tmp_path: Path) -> None:
    corpus.jsonl(tmp_path / "lines" / "a.jsonl", SOME[:70])
    corpus.jsonl(tmp_path / "lines" / "sub" / "b.jsonl", SOME[70:])
    (tmp_path / "lines" / "LICENSE").write_text("not read")
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "a.json.gz").write_bytes(packed(SOME[:70]))
    (tmp_path / "packed" / "b.json.gz").write_bytes(packed(SOME[70:]))
    (tmp_path / "documents").mkdir()
    for number, text in enumerate(SOME):
        (tmp_path / "documents" / f"{number:04d}.txt").write_text(text)
    assert min(ranks.call(with_table, tmp_path).values()) >= 6


def with_table(folder: Path) -> dict[str, int]:
    import pyarrow
    from pyarrow import parquet

    (folder / "table").mkdir()
    parquet.write_table(pyarrow.table({"text": SOME[:70]}), folder / "table" / "a.parquet", row_group_size=16)
    parquet.write_table(pyarrow.table({"text": SOME[70:]}), folder / "table" / "b.parquet", row_group_size=16)
    return resumed_everywhere(folder)


# The hub


def numbers_seen(directory: Path) -> list[int]:
    """Samples in the order of steps, as the ranks logged them."""
    logs = sorted(directory.glob("rank-*.log"))
    return [int(n) for log in logs for n in re.findall(r"^sample (\d+)$", log.read_text(), re.M)]


@pytest.fixture(scope="module")
def story(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run on C4 over restarts with 4, 3, 2 and 4 ranks. Until the last start, the dataset's second file
    does not come."""
    directory = tmp_path_factory.mktemp("story")
    hub.requests.clear()
    hub.held.add("en/c4-train.00001-of-00002.json.gz")
    found: dict[str, Any] = {"directory": directory, "processes": [], "complete": [], "seen": []}
    earlier: set[int] = set()
    for world, until in ((4, 4), (3, 6), (2, 10), (4, 1000)):
        steps = {"num_steps": until, "checkpoint_every": 1000, "validate_every": 0}
        job(directory, **steps, num_epochs=1, shuffle_window=16)
        for log in directory.glob("rank-*.log"):
            log.unlink()
        if until == 1000:
            hub.release.set()
        env = environment(hub, directory / "home")
        assert ranks.train(directory, world, "noting_samples", env=env) == [0] * world, ranks.log(directory)
        found["processes"].append(hub.processes() - earlier)  # of whose requests some are noted late
        earlier |= hub.processes()
        found["complete"].append(bool(list(directory.glob("data/*/complete.json"))))
        found["seen"].append(numbers_seen(directory))
        found["log"] = ranks.log(directory)
    return found


def test_training_starts_on_what_is_ready(story: dict[str, Any]) -> None:
    assert story["complete"] == [False, False, False, True]
    assert len(story["seen"][0]) == 4 * 8


def test_only_one_process_asks_the_hub(story: dict[str, Any]) -> None:
    assert [len(processes) for processes in story["processes"]] == [1, 1, 1, 1]
    assert len(set().union(*story["processes"])) == 4  # the stand-in does tell processes apart


def test_a_whole_index_needs_no_hub(story: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from training.config import load
    from training.data import opening

    monkeypatch.setattr("training.data.opening.subprocess.Popen", None)
    path = story["directory"] / "job.yaml"
    assert opening.begin(load(path), path) is None
    assert opening.open_samples(load(path), path.parent, 384).num_samples
    (shard,) = path.parent.glob("data/*/shard-000001.bin")
    content = shard.read_bytes()
    shard.write_bytes(content[:-1])
    with pytest.raises(TypeError, match="not callable"):  # a writer is started for one that is damaged
        opening.begin(load(path), path)
    shard.write_bytes(content)


def test_every_sample_is_seen_once_over_restarts_with_other_ranks(story: dict[str, Any]) -> None:
    from training.data.index import Index
    from training.data.samples import Cut, Samples

    seen = [number for part in story["seen"] for number in part]
    (index,) = story["directory"].glob("data/*")
    samples = Samples(Index(index), Cut(length=32, seed=42, window=16))
    count = samples.num_samples or 0
    assert [len(part) for part in story["seen"][:3]] == [4 * 8, 2 * 6, 4 * 4]
    left = count - len(seen)
    assert len(seen) == len(set(seen)) and max(seen) < count and 0 <= left < 8
    order = [samples.sample_at(i) for i in range(len(seen))]
    assert sorted(order) == sorted(seen)
    at = 0
    for part in story["seen"]:  # and each start used what the seed says, whoever was there
        assert sorted(part) == sorted(order[at : at + len(part)])
        at += len(part)
    assert left == 0 or f"{counted(left, 'sample')} of the last epoch cannot fill a step of 8" in story["log"]


def test_the_index_is_the_dataset_in_its_order(story: dict[str, Any], tmp_path: Path) -> None:
    from training.data.index import Index
    from training.data.tokenizer import HuggingFace

    (index,) = story["directory"].glob("data/*")
    found = Index(index)
    encoded = HuggingFace(corpus.tokenizer(tmp_path)).encode(TEXTS)
    assert found.complete and found.source.revision == COMMIT
    assert np.array_equal(found.tokens(0, len(found)), np.concatenate(encoded))
    assert len(found.beginnings(0, len(found))) == len(TEXTS)


# Mistakes


MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "dataset": ({"dataset": "allenai/c5"}, "dataset: the hub has no allenai/c5 that this token may see"),
    "configuration": ({"dataset_config": "fr"}, r"'fr' not found\. Available: \['en', 'de'\]"),
    "split": ({"dataset_split": "trai"}, r"Bad split: trai\. Available splits: \['train', 'validation'\]"),
    "column": ({"text_column": "body"}, "there is no column 'body'\n  hint: use one of text, url"),
    "no token": ({"dataset": "me/gated", "dataset_config": "en"}, "gated.*\n  hint: .*HF_TOKEN"),
    "wrong token": ({"dataset": "me/gated", "dataset_config": "en", "HF_TOKEN": "hf_no"}, "hint: .*HF_TOKEN"),
    "tokenizer": ({"tokenizer": "me/nothing"}, "tokenizer: the hub has no me/nothing"),
    "tokenizer's directory": ({"tokenizer": "./no"}, r"tokenizer: .*/no/tokenizer\.json: No such file"),
    "vocabulary": ({"preset": "tiny", "vocab_size": 280}, "it has 300 tokens and the model 280"),
    "path": ({"dataset": "./no.txt"}, r"no\.txt: No such file or directory"),
    "folder": ({"dataset": "./"}, "has no file of text"),
}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read: StopIteration"),
        (b'{"text": "broken\n', "cannot be read: "),
        (b'{"text": {"en": "x"}}\n', "holds dict and not text\n  hint: give a dataset with a column of text"),
    ],
)
def test_a_file_that_is_none_is_one_error(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    assert words in ranks.call(said_of, tmp_path)


def said_of(directory: Path) -> str:
    from training.config import parse
    from training.data import sources
    from training.data.described import describe
    from training.data.errors import DataError

    described = describe(parse({"preset": "tiny", "context_length": 32, "dataset": "./a.jsonl"}), directory)
    try:
        sources.check_column(sources.open_rows(described, "x"), described)
    except DataError as error:
        return str(error)
    return "nothing"


@pytest.fixture(scope="module")
def told(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    jobs: dict[str, dict[str, object]] = {"busy": {}}
    jobs |= {name: dict(settings) for name, (settings, _part) in MISTAKES.items()}
    jobs["right token"] = {"dataset": "me/gated", "dataset_config": "en", "HF_TOKEN": hub.token}
    home = tmp_path_factory.mktemp("told")
    hub.refusing = 2  # of the first job
    asked = {name: settings_of(settings) for name, settings in jobs.items()}
    return ask(asked, home, environment(hub, home))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_error_before_the_ranks_start(told: dict[str, Any], mistake: str) -> None:
    code, said, left = told[mistake]
    assert code == 2 and re.search(MISTAKES[mistake][1], said, re.S), said
    assert said.count("hint:") == 1 and "Traceback" not in said
    assert not [name for name in left if name.startswith(("shard", "source"))]
    assert set(left) <= {"job.yaml", "data"}


def test_a_hub_that_is_busy_is_asked_again(told: dict[str, Any]) -> None:
    """Twice it answers 429: too many requests; the process waits and does not give up."""
    code, said, _left = told["busy"]
    assert code == 0 and said.count("429") == said.count("; again in") == 2, said


def test_with_the_right_token_all_is_well(told: dict[str, Any]) -> None:
    code, said, left = told["right token"]
    assert code == 0 and f"Data: me/gated at {COMMIT} goes into" in said
    assert "source.json" in left


def test_offline_asks_nobody(hub: Hub, tmp_path: Path) -> None:
    jobs: dict[str, dict[str, object]] = {
        "dataset": {"tokenizer": "bytes"},
        "tokenizer": {"dataset": "./texts"},
        "files": {"dataset": "../texts", "tokenizer": "bytes"},
        "cache": {"tokenizer": "bytes", "dataset": "you/cached", "dataset_config": "en"},
    }
    corpus.jsonl(tmp_path / "texts" / "a.jsonl", TEXTS)
    cached = tmp_path / "hub" / "datasets--you--cached"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text(COMMIT)
    for name, content in hub.repositories["datasets/allenai/c4"].items():
        path = cached / "snapshots" / COMMIT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    hub.requests.clear()
    asked = {name: settings_of(settings) for name, settings in jobs.items()}
    found = ask(asked, tmp_path, environment(hub, tmp_path, HF_HUB_OFFLINE="1"))
    assert (
        found["dataset"][0] == 2
        and "allenai/c4 is not in the hub's cache, and offline" in found["dataset"][1]
    )
    assert found["tokenizer"][0] == 2 and "me/model is not in the hub's cache" in found["tokenizer"][1]
    assert found["files"][0] == 0, found["files"]
    assert found["cache"][0] == 0 and COMMIT in found["cache"][1], found["cache"]
    assert hub.requests == []


def test_the_first_rank_refuses_too(hub: Hub, tmp_path: Path) -> None:
    directory = job(tmp_path / "job", dataset="allenai/c5")
    assert ranks.train(directory, 1, env=environment(hub, tmp_path / "home")) == [2]
    assert "the hub has no allenai/c5" in ranks.log(directory) and "Traceback" not in ranks.log(directory)


def test_the_writer_ends_with_the_rank_that_started_it(hub: Hub, tmp_path: Path) -> None:
    hub.release.clear()
    hub.held.add("en/c4-train.00001-of-00002.json.gz")
    directory = job(tmp_path / "job", shuffle_window=8)
    code = (
        "import os, sys; from pathlib import Path; from training.config import load; "
        "from training.data.opening import begin; path = Path(sys.argv[1]); "
        "process = begin(load(path), path); print(process.pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(directory / "job.yaml")],
        cwd=ROOT,
        env=os.environ | environment(hub, tmp_path / "home"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None and parent.stdin is not None
    writer = int(parent.stdout.readline())
    assert Path(f"/proc/{writer}").exists()
    parent.kill()
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
    until = time.monotonic() + 20
    while Path(f"/proc/{writer}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    hub.release.set()
    assert not Path(f"/proc/{writer}").exists()
