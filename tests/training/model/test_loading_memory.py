"""Loading published weights takes a rank the memory of its own part, not of a whole copy."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.training import ranks
from tests.training.model.world import together
from training.model.presets import PRESETS

SHAPE = dataclasses.replace(PRESETS["tiny"].shape, vocab_size=40_000, hidden_size=512, head_dim=128)
WORLD = 4


def publish(directory: Path) -> None:
    import torch

    from training.model.build import build
    from training.model.weights import SINGLE

    directory.mkdir()
    from safetensors.torch import save_file

    tensors = {name: torch.zeros(each.shape) for name, each in build(SHAPE).named_parameters()}
    save_file(tensors, directory / SINGLE)


def highest_memory(*, reset: bool = False) -> int:
    """Most memory this process has taken since the last reset, in bytes."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024


def rise(directory: Path, whole: bool) -> int:
    """Bytes by which a rank's memory rose at most while it loaded weights."""
    import torch.distributed as dist
    from safetensors.torch import load_file

    from tests.training.model.parts import CPU, job
    from training.model import weights
    from training.model.build import build
    from training.model.shard import make_mesh, shard
    from training.model.values import allocate

    model = build(SHAPE)
    shard(model, SHAPE, job(), make_mesh(job(), CPU, dist.get_world_size(), 1))
    allocate(model, CPU, CPU)
    before = highest_memory(reset=True)
    copies: dict[str, Any] = {}
    if whole:
        copies = {name: each.clone() for name, each in load_file(directory / weights.SINGLE).items()}
    weights.load(model, directory)
    copies.clear()
    return highest_memory() - before


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "weights"
    ranks.call(publish, path)
    return path


def test_a_rank_reads_its_own_part(directory: Path) -> None:
    size = (directory / "model.safetensors").stat().st_size
    assert size > 150e6
    # its part of the parameters comes into memory, and the pages of the file it is copied from
    assert max(together(rise, WORLD, directory, False)) < 0.7 * size


def test_a_whole_copy_would_be_noticed(directory: Path) -> None:
    size = (directory / "model.safetensors").stat().st_size
    assert min(together(rise, 1, directory, True)) > size
