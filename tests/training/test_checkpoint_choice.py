"""Which checkpoint a start goes on from: by step, whatever lies around it, or the one that is asked for."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.training import saves
from tests.training.saves import Run, good, train
from tests.training.test_checkpoint import small_checkpoint
from training.checkpoint import retention
from training.checkpoint.retention import Kept
from training.config import parse


@pytest.fixture(scope="module")
def ended(rank_server: None, tmp_path_factory: pytest.TempPathFactory) -> saves.Run:
    """Six steps of two ranks; steps 4 and 6 are there."""
    run = Run(directory=tmp_path_factory.mktemp("ended"))
    good(run, 2)
    return run


@pytest.fixture
def job(ended: saves.Run, tmp_path: Path) -> Run:
    """A copy of that run."""
    shutil.copytree(ended.directory, tmp_path / "job")
    return Run(directory=tmp_path / "job", steps=7)


def asking(run: Run, path: Path, steps: int = 7) -> Run:
    return dataclasses.replace(run, steps=steps, settings={"resume_from": str(path)})


def own(run: Run, step: int) -> Path:
    return run.directory / "checkpoints" / f"step-{step:08d}"


def test_the_step_counts_and_no_name_width_or_time(tmp_path: Path) -> None:
    for step in (2, 3, 30):
        small_checkpoint(tmp_path, step)
    (tmp_path / "step-00000003").rename(tmp_path / "step-100000000")
    os.utime(tmp_path / "step-00000002", (2e9, 2e9))
    for stray in ("step-notes", "step-0000009", "mistral-99steps", ".writing-step-00000099", "lost+found"):
        (tmp_path / stray).mkdir()
    (tmp_path / "step-00000098").write_text("a file")
    (tmp_path / "step-00000097").symlink_to(tmp_path / "step-00000002")
    assert list(retention.committed(tmp_path)) == [100_000_000, 30, 2]


def test_the_first_in_every_block_of_steps_is_kept_for_good() -> None:
    kept: set[int] = set()
    for step in range(40, 1000, 40):
        kept = Kept(2, every=300).among(kept | {step})
    assert kept == {320, 600, 920, 960}
    assert Kept(2).among({40, 80, 120}) == {80, 120}


JOBS: list[tuple[dict[str, Any], int]] = [
    ({}, 4),
    ({"keep_checkpoints": 3}, 5),
    ({"keep_every": 10, "checkpoint_every": 1}, 4 + 8),
    ({"keep_every": 10, "checkpoint_every": 20}, 4 + 4),
    ({"keep_every": 10, "checkpoint_every": "auto"}, 4 + 8),
]


@pytest.mark.parametrize(("settings", "most"), JOBS)
def test_there_are_never_more_at_once_than_is_said(settings: dict[str, Any], most: int) -> None:
    config = parse({"preset": "tiny", "context_length": 32, "num_steps": 89, **settings})
    kept = retention.shared(config)
    assert kept.at_once(config.num_steps) == most
    every = 1 if config.checkpoint_every == "auto" else int(config.checkpoint_every)
    counts = []
    for started_from in range(0, 80, every):
        there = {started_from} if started_from else set()
        for step in range(started_from + every, config.num_steps + 1, every):
            counts.append(len(there | {step}))
            there = kept.among(there | {step}) | ({started_from} & there)
    assert max(counts) == most if every < 20 else max(counts) <= most


def test_on_a_node_the_one_that_is_copied_is_counted_too() -> None:
    config = parse({"preset": "tiny", "context_length": 32, "keep_local_checkpoints": 2})
    assert retention.local(config).at_once(5000) == 5


def test_only_what_cannot_be_removed_stays_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (1, 2, 3, 4, 5):
        small_checkpoint(tmp_path, step)
    original = retention.remove

    def remove(path: Path) -> None:
        if path.name == "step-00000002":
            raise OSError(16, "Device or resource busy")
        original(path)

    monkeypatch.setattr(retention, "remove", remove)
    (trouble,) = retention.prune(tmp_path, Kept(2), spared={3})
    assert "step-00000002 cannot be removed" in trouble
    assert list(retention.committed(tmp_path)) == [5, 4, 3, 2]


def test_a_manifest_under_another_step_is_set_aside(job: Run) -> None:
    own(job, 6).rename(own(job, 90))
    result = good(job, 2)
    assert result.loaded == str(own(job, 4))
    assert "manifest.json is that of step 6" in result.text


def test_the_optimizer_has_the_settings_of_the_job_file_after_a_resume(job: Run) -> None:
    settings = {"weight_decay": 0.0, "beta1": 0.5, "beta2": 0.7}
    before, after = good(job, 2), good(dataclasses.replace(job, steps=8, settings=settings), 2)
    assert before.optimizer == [(0.2, (0.9, 0.95)), (0.0, (0.9, 0.95))]
    assert after.loaded == str(own(job, 6))
    assert after.optimizer == [(0.0, (0.5, 0.7)), (0.0, (0.5, 0.7))]


@pytest.mark.parametrize("step", [4, 6])
def test_the_one_asked_for_is_used_once(job: Run, step: int) -> None:
    run = asking(job, own(job, step), steps=8)
    first = good(dataclasses.replace(run, steps=step), 2)
    assert first.loaded == str(own(job, step))
    assert own(job, 6).exists() == (step == 6)
    assert good(run, 2).loaded == str(own(job, step))
    assert good(run, 2).loaded == str(own(job, 8))


@pytest.mark.parametrize(("change", "step", "loaded"), [("asked_each_time", 6, 6), ("later_ones_stay", 4, 6)])
def test_asked_each_time_or_with_later_ones_left_it_would_go_elsewhere(
    job: Run, change: str, step: int, loaded: int
) -> None:
    """Negative control."""
    run = asking(dataclasses.replace(job, change=change), own(job, step), steps=step + 1)
    good(run, 2)
    assert good(dataclasses.replace(run, steps=8), 2).loaded == str(own(job, loaded))


def test_one_of_another_run_is_where_this_one_starts(job: Run, tmp_path: Path) -> None:
    run = asking(Run(directory=tmp_path / "new"), job.directory / "checkpoints", steps=8)
    first = good(run, 2)
    assert first.loaded == str(own(job, 6))
    assert good(run, 2).loaded == str(own(run, 8))


def test_one_asked_for_that_is_missing_is_an_error(job: Run) -> None:
    for result in train(asking(job, own(job, 5)), 2):
        assert result and not result.losses
        assert f"resume_from: {own(job, 5)} does not exist" in result.error


def test_if_a_missing_one_were_nothing_another_would_be_taken(job: Run) -> None:
    """Negative control."""
    run = asking(dataclasses.replace(job, change="missing_is_nothing"), own(job, 5))
    assert good(run, 2).loaded == str(own(job, 6))


def test_one_asked_for_that_is_bad_is_an_error_and_stays_where_it_is(job: Run, tmp_path: Path) -> None:
    path = own(job, 6) / "__0_0.distcp"
    path.write_bytes(b"")
    for result in train(asking(Run(directory=tmp_path / "new"), own(job, 6)), 2):
        assert result and not result.losses
        assert "holds no good checkpoint" in result.error
    assert path.exists()
    assert not (tmp_path / "new" / "checkpoints" / "step-00000006").exists()
