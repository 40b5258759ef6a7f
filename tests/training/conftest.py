"""Fixtures of the trainer's tests: a job file, and one finished run that the resume tests start from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[2]))  # for `training` and the helpers beside this file

from tests.training import ranks

# Dropout is on and the layers are checkpointed: a resumed step is the same only if the random state is.
JOB = {
    "preset": "tiny",
    "device": "cpu",
    "context_length": 32,
    "train_batch_size": 2,
    "num_steps": 12,
    "checkpoint_every": 4,
    "keep_checkpoints": 3,
    "validate_every": 6,
    "validate_batches": 1,
    "learning_rate": 3e-3,
    "warmup_fraction": 0.25,
    "step_timeout_seconds": 60,
}


def write_job(directory: Path, **changes: object) -> Path:
    """Write a job file into a new job directory; returns the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "job.yaml").write_text(yaml.safe_dump(JOB | changes))
    return directory


@pytest.fixture(scope="session", autouse=True)
def rank_server() -> None:
    """Loads torch once, for all ranks of all tests."""
    ranks.start_server()


@pytest.fixture(scope="session")
def finished(rank_server: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 12 steps on two ranks that nothing disturbed, with checkpoints of steps 4, 8 and 12."""
    directory = write_job(tmp_path_factory.mktemp("finished"))
    assert ranks.train(directory, 2) == [0, 0], ranks.log(directory)
    return directory
