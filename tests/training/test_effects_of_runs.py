"""Settings that the published job names, seen in a run or in what is read; and that none is left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training import corpus, ranks
from tests.training.conftest import write_job
from tests.training.hub import Hub, serve
from tests.training.test_data_sources import README, ROOT, environment, packed
from tests.training.test_effects import EFFECTS
from training import seed_arguments
from training.data.index import Index


@pytest.fixture(scope="module")
def base_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_with(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def changed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_with(
        tmp_path_factory.mktemp("changed"),
        train_batch_size=1,
        context_length=16,
        num_steps=8,
        log_every=2,
        checkpoint_every=3,
        checkpoint_directory="./elsewhere",
        validate_every=4,
        val_batch_size=3,
        validate_batches=2,
        same_seed=True,
        grad_clip=0.01,
        tensorboard_directory="./drawn",
    )


def run_with(directory: Path, **changes: Any) -> Path:
    values = {"num_steps": 6, "checkpoint_every": 2, "validate_every": 3, "validate_batches": 1}
    write_job(directory, **(values | changes))
    assert ranks.train(directory, 2, "noting_effects") == [0, 0], ranks.log(directory)
    return directory


def test_a_run_follows_its_counts(base_run: Path, changed_run: Path) -> None:
    base, changed = ranks.log(base_run), ranks.log(changed_run)
    assert [max(ranks.metrics(each)) for each in (base_run, changed_run)] == [6, 8]
    assert [each.count(" Loss: ") for each in (base, changed)] == [6, 4]
    assert [each.count("Validation loss") for each in (base, changed)] == [2, 2]
    tokens = [ranks.metrics(each)[1]["tokens"] for each in (base_run, changed_run)]
    assert tokens == [2 * 2 * 32, 2 * 1 * 16]


def test_checkpoints_go_where_and_when_it_says(base_run: Path, changed_run: Path) -> None:
    found = [
        sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*"))
        for folder in (base_run / "checkpoints", changed_run / "elsewhere", changed_run / "checkpoints")
    ]
    assert found == [[2, 4, 6], [3, 6, 8], []]


def test_validation_reads_as_many_rows_and_batches_as_it_says(base_run: Path, changed_run: Path) -> None:
    """One batch before the first step, and twice as many as are asked for."""
    rows = [re.findall(r"^evaluates (\d+) rows$", ranks.log(each), re.M) for each in (base_run, changed_run)]
    assert rows == [["1"] * (1 + 2 * 1), ["3"] * (1 + 2 * 2)]


def test_the_gradient_is_no_longer_than_it_says(base_run: Path, changed_run: Path) -> None:
    longest = [
        max(map(float, re.findall(r"^steps with norm (\S+)$", ranks.log(each), re.M)))
        for each in (base_run, changed_run)
    ]
    assert longest[1] == pytest.approx(0.01, rel=1e-3) and longest[0] > 0.1


def test_figures_are_drawn_where_it_says(base_run: Path, changed_run: Path) -> None:
    assert list(changed_run.glob("drawn/events.out.tfevents.*"))
    assert not list(base_run.glob("**/events.out.tfevents.*"))


def test_it_starts_from_the_checkpoint_it_says(base_run: Path, tmp_path: Path) -> None:
    named = base_run / "checkpoints" / "step-00000004"
    directory = run_with(tmp_path, resume_from=str(named))
    assert f"Loading checkpoint from {named}" in ranks.log(directory)
    assert ranks.numbers(directory, 1, 1) == ranks.numbers(base_run, 1, 5)


def test_epochs_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(range(32, 127)) * 30)
    once, twice = (
        run_with(tmp_path / str(n), num_epochs=n, num_steps=1000, dataset=str(tmp_path / "text"))
        for n in (1, 2)
    )
    assert 0 < 2 * max(ranks.metrics(once)) == max(ranks.metrics(twice)) < 100


def random_states_differ(checkpoint: Path) -> bool:
    import torch
    from torch.distributed.checkpoint import state_dict_loader

    from training import rng
    from training.checkpoint.state import rng_key

    state: dict[str, Any] = {rng_key(rank): rng.capture(torch.device("cpu")) for rank in (0, 1)}
    state_dict_loader.load(state, checkpoint_id=checkpoint, no_dist=True)
    return not torch.equal(*(state[rng_key(rank)]["torch"] for rank in (0, 1)))


def test_ranks_drop_the_same_elements_only_when_asked_to(base_run: Path, changed_run: Path) -> None:
    assert ranks.call(random_states_differ, base_run / "checkpoints/step-00000006")
    assert not ranks.call(random_states_differ, changed_run / "elsewhere/step-00000006")


# What is read


EN, DE, OWN = corpus.texts(20), corpus.texts(15, seed=2), corpus.texts(10, seed=3)
READ: dict[str, list[str]] = {
    "c4": ["--dataset=c4", "--tokenizer=bytes"],
    "another configuration": ["--dataset=c4", "--tokenizer=bytes", "--dataset_config_name=de"],
    "another tokenizer": ["--dataset=c4", "--tokenizer=me/model"],
    "a directory": ["--dataset=../texts", "--tokenizer=bytes"],
}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """The tokens that a job is given, by the arguments it was made from."""
    folder = tmp_path_factory.mktemp("read")
    corpus.jsonl(folder / "texts" / "a.jsonl", OWN)
    model = {path.name: path.read_bytes() for path in corpus.tokenizer(folder / "tokenizer").iterdir()}
    c4 = {
        "README.md": README,
        "en/c4-train.00000-of-00001.json.gz": packed(EN),
        "en/c4-validation.00000.json.gz": packed(["never read"]),
        "de/a.json.gz": packed(DE),
    }
    tiny = ["preset=tiny", "weights=scratch", "context_length=32"]
    for name, arguments in READ.items():
        (folder / name).mkdir()
        out = ["--out", str(folder / name / "job.yaml")]
        assert seed_arguments.main([*arguments, *tiny, *out]) == 0
    code = (
        "import os, sys; from pathlib import Path; from training.config import load; "
        "from training.data.described import describe; from training.data.writer import Writer; "
        "[Writer(describe(load(path), path.parent), 384).run() for path in map(Path, sys.argv[1:])]; "
        "os._exit(0)"
    )
    with serve(Hub({"datasets/allenai/c4": c4, "me/model": model})) as hub:
        jobs = [str(folder / name / "job.yaml") for name in READ]
        env = os.environ | environment(hub, folder / "home")
        subprocess.run([sys.executable, "-c", code, *jobs], cwd=ROOT, env=env, check=True)
    indices = {name: Index(next(folder.glob(f"{name}/data/*"))) for name in READ}
    return {name: index.tokens(0, len(index)).tolist() for name, index in indices.items()}


def test_the_text_and_the_tokenizer_are_those_it_says(read: dict[str, list[int]], tmp_path: Path) -> None:
    from training.data.tokenizer import HuggingFace

    assert read["c4"] == corpus.as_bytes(EN).tolist()
    assert read["another configuration"] == corpus.as_bytes(DE).tolist()
    assert read["a directory"] == corpus.as_bytes(OWN).tolist()
    encoded = HuggingFace(corpus.tokenizer(tmp_path)).encode(EN)
    assert read["another tokenizer"] == np.concatenate(encoded).tolist() != read["c4"]


# All of them


SEEN: dict[str, Callable[..., None]] = {
    "train_batch_size": test_a_run_follows_its_counts,
    "context_length": test_a_run_follows_its_counts,
    "log_every": test_a_run_follows_its_counts,
    "validate_every": test_a_run_follows_its_counts,
    "num_epochs": test_epochs_end_a_run,
    "same_seed": test_ranks_drop_the_same_elements_only_when_asked_to,
    "checkpoint_every": test_checkpoints_go_where_and_when_it_says,
    "checkpoint_directory": test_checkpoints_go_where_and_when_it_says,
    "resume_from": test_it_starts_from_the_checkpoint_it_says,
    "val_batch_size": test_validation_reads_as_many_rows_and_batches_as_it_says,
    "validate_batches": test_validation_reads_as_many_rows_and_batches_as_it_says,
    "grad_clip": test_the_gradient_is_no_longer_than_it_says,
    "tensorboard_directory": test_figures_are_drawn_where_it_says,
    "dataset": test_the_text_and_the_tokenizer_are_those_it_says,
    "dataset_config": test_the_text_and_the_tokenizer_are_those_it_says,
    "tokenizer": test_the_text_and_the_tokenizer_are_those_it_says,
}


def test_every_argument_of_the_published_job_is_seen_in_an_effect() -> None:
    settings = {argument.setting for argument in seed_arguments.ARGUMENTS.values()}
    assert settings == {name for name, _, _ in EFFECTS} | set(SEEN)
    assert {name for name, _, _ in EFFECTS}.isdisjoint(SEEN)
