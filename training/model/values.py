"""Real values for a sharded model that has none yet.

Weights are drawn from (seed, parameter name) alone, so they are the same for every number of ranks.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from training.model.presets import Shape


def initialise(model: nn.Module, shape: Shape, seed: int, device: torch.device) -> None:
    """Take the memory and fill it: weights normal, norms one, and the rotary frequencies computed again.

    The buffers matter: they are not in checkpoints, and after `to_empty` they hold whatever the memory held.
    """
    model.to_empty(device=device)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            _fill(parameter, _initial_value(name, parameter, shape.initializer_range, seed, device))
        filled = {id(buffer) for module in model.modules() for buffer in _fill_rotary(module)}
    missed = [name for name, buffer in model.named_buffers() if id(buffer) not in filled]
    if missed:
        raise AssertionError(f"buffers without a value: {missed}")


def _initial_value(
    name: str, parameter: nn.Parameter, deviation: float, seed: int, device: torch.device
) -> torch.Tensor:
    if parameter.dim() == 1:  # the scale of a norm
        return torch.ones(parameter.shape, device=device)
    generator = torch.Generator(device).manual_seed(zlib.crc32(name.encode()) + (seed << 32))
    value = torch.empty(parameter.shape, device=device)
    return value.normal_(0.0, deviation, generator=generator)


def _fill(parameter: nn.Parameter, value: torch.Tensor) -> None:
    if not isinstance(parameter, DTensor):
        parameter.copy_(value)
        return
    mine = distribute_tensor(value, parameter.device_mesh, parameter.placements, src_data_rank=None)
    parameter.to_local().copy_(mine.to_local())


def _fill_rotary(module: nn.Module) -> list[torch.Tensor]:
    if not hasattr(module, "original_inv_freq"):
        return []
    rotary: Any = module
    compute = ROPE_INIT_FUNCTIONS.get(rotary.rope_type, rotary.compute_default_rope_parameters)
    frequencies, rotary.attention_scaling = compute(rotary.config)
    buffers = [rotary.inv_freq, rotary.original_inv_freq]
    for buffer in buffers:
        buffer.copy_(frequencies)
    return buffers
