"""What resume_from names, over the starts that follow."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from tests.training import saves
from tests.training.saves import Run, good, train


@pytest.fixture(scope="module")
def ended(rank_server: None, tmp_path_factory: pytest.TempPathFactory) -> saves.Run:
    """Six steps of two ranks; steps 4 and 6 are there."""
    run = Run(directory=tmp_path_factory.mktemp("ended"))
    good(run, 2)
    return run


def test_one_that_was_followed_and_is_gone_ends_no_later_start(ended: Run, tmp_path: Path) -> None:
    """Retention removes one of the run's own in time; one of another run may be cleared away."""
    theirs = tmp_path / "theirs"
    shutil.copytree(ended.directory / "checkpoints", theirs)
    run = Run(directory=tmp_path / "new", steps=8, settings={"resume_from": str(theirs)})
    assert good(run, 2).loaded == str(theirs / "step-00000006")
    shutil.rmtree(theirs)
    again = good(dataclasses.replace(run, steps=9), 2)
    assert again.loaded == str(run.directory / "checkpoints" / "step-00000008")


def test_one_that_was_not_followed_yet_must_be_there(ended: Run, tmp_path: Path) -> None:
    """Negative control: the run has checkpoints of its own, and another one is named."""
    shutil.copytree(ended.directory, tmp_path / "job")
    run = Run(directory=tmp_path / "job", settings={"resume_from": str(tmp_path / "gone")})
    for result in train(run, 2):
        assert result and "gone does not exist" in result.error


def test_until_the_run_has_gone_on_from_it_its_own_older_ones_do_not_count(
    ended: Run, tmp_path: Path
) -> None:
    shutil.copytree(ended.directory, tmp_path / "job")
    shutil.rmtree(tmp_path / "job" / "checkpoints" / "step-00000006")
    asked = str(ended.directory / "checkpoints" / "step-00000006")
    run = Run(directory=tmp_path / "job", steps=7, settings={"resume_from": asked})
    assert good(run, 2).loaded == asked  # and ends before its first save
    assert good(run, 2).loaded == asked


def test_one_of_other_settings_is_refused_and_puts_nothing_aside(ended: Run, tmp_path: Path) -> None:
    shutil.copytree(ended.directory, tmp_path / "job")
    asked = str(ended.directory / "checkpoints" / "step-00000004")
    run = Run(directory=tmp_path / "job", settings={"resume_from": asked, "seed": 43})
    for result in train(run, 2):
        assert result and "step-00000004: made with other settings: seed was 42 and is 43" in result.error
    assert not (tmp_path / "job" / "checkpoints" / "set-aside").exists()
