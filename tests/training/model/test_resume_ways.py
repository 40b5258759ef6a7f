"""A resumed step is the undisturbed one to the last bit also where models are built or spread otherwise."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.training import ranks
from tests.training.conftest import write_job

WAYS: dict[str, dict[str, Any]] = {
    "tied embeddings": {"preset": "tiny-llama", "residual_dropout": 0.1},
    "copies of whole models": {"sharding": "hybrid", "shard_group_size": 1},
    "state in host memory": {"cpu_offload": True, "activation_checkpointing": "selective"},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_run_is_the_undisturbed_one(way: str, tmp_path: Path) -> None:
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    values = {"num_steps": 4, "checkpoint_every": 2, "validate_every": 0, "gradient_accumulation": 2}
    write_job(whole, **{**values, **WAYS[way]})
    assert ranks.train(whole, 2) == [0, 0], ranks.log(whole)
    shutil.copytree(whole, resumed)
    shutil.rmtree(resumed / "checkpoints/step-00000004")
    assert ranks.train(resumed, 2) == [0, 0], ranks.log(resumed)
    assert len(ranks.numbers(whole, 1, 3)) == 2
    assert ranks.numbers(resumed, 2, 3) == ranks.numbers(whole, 1, 3)
