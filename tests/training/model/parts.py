"""A sharded tiny model outside the loop: built, filled, and a step made with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from training.config import JobConfig, parse
from training.model import weights
from training.model.build import build
from training.model.memory import OffloadedLayers
from training.model.shape import choose
from training.model.shard import make_mesh, parameter_device, shard
from training.model.values import allocate, initialise

CPU = torch.device("cpu")


def job(**values: Any) -> JobConfig:
    """A job of the tiny preset, without dropout unless the values say so."""
    calm = dict.fromkeys(("attention_dropout", "residual_dropout", "embedding_dropout"), 0.0)
    small: dict[str, Any] = {"preset": "tiny", "context_length": 32, "precision": "fp32"}
    return parse({**(calm if "weights" not in values else {}), **small, **values})


def sharded(config: JobConfig, directory: Path = Path(), ranks_per_node: int | None = None) -> nn.Module:
    """The model of a job over the ranks there are, with its first values."""
    chosen = choose(config, directory)
    world = dist.get_world_size()
    model = build(chosen.shape)
    shard(model, chosen.shape, config, make_mesh(config, CPU, world, ranks_per_node or world))
    allocate(model, CPU, parameter_device(config, CPU))
    if chosen.weights:
        weights.load(model, chosen.weights)
    else:
        initialise(model, chosen.shape, config.seed)
    return model.train()


def tokens(config: JobConfig, rank: int, rows: int = 1) -> torch.Tensor:
    """The same made-up text on each call; another on each rank."""
    generator = torch.Generator().manual_seed(100 + rank)
    return torch.randint(0, 256, (rows, config.context_length), generator=generator)


def loss_of(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Mean loss of predicting each next token."""
    logits = model(input_ids=ids[:, :-1]).logits
    return nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())


def layers_back(moves: OffloadedLayers) -> list[int]:
    """Layers with offloaded tensors on the device now."""
    return [n for n, moved in moves._layers.items() if any(each.loaded is not None for each in moved)]


def whole(tensor: Any) -> torch.Tensor:
    """A parameter or gradient in one piece, whatever it is split into."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor  # type: ignore[no-any-return]
