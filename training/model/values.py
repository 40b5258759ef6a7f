"""Real values for a sharded model that has none yet: memory, rotary frequencies, random weights.

Weights are drawn from (seed, parameter name) alone, so they are the same for every number of ranks. Published
weights are read by weights.py instead.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from training.model.presets import Shape


def allocate(model: nn.Module, device: torch.device, parameter_device: torch.device) -> None:
    """Take the memory, and compute the buffers: they are not in checkpoints, and after `to_empty` they hold
    whatever the memory held. Parameters are still without a value."""
    model.to_empty(device=parameter_device)  # FSDP2 keeps embedding and output one where they are
    filled = {id(buffer) for module in model.modules() for buffer in _fill_rotary(module, device)}
    missed = [name for name, buffer in model.named_buffers() if id(buffer) not in filled]
    if missed:
        raise AssertionError(f"buffers without a value: {missed}")


def initialise(model: nn.Module, shape: Shape, seed: int) -> None:
    """Random weights: normal, norms one."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            _fill(parameter, _initial_value(name, parameter, shape.initializer_range, seed))


def _initial_value(name: str, parameter: nn.Parameter, deviation: float, seed: int) -> torch.Tensor:
    device = parameter.device
    if parameter.dim() == 1:  # the scale of a norm
        return torch.ones(parameter.shape, device=device)
    # one number of 32 bits: the CPU's generator ignores all above them
    generator = torch.Generator(device).manual_seed(zlib.crc32(f"{seed} {name}".encode()))
    value = torch.empty(parameter.shape, device=device)
    return value.normal_(0.0, deviation, generator=generator)


def _fill(parameter: nn.Parameter, value: torch.Tensor) -> None:
    if not isinstance(parameter, DTensor):
        parameter.copy_(value)
        return
    mine = distribute_tensor(value, parameter.device_mesh, parameter.placements, src_data_rank=None)
    parameter.to_local().copy_(mine.to_local())


def _fill_rotary(module: nn.Module, device: torch.device) -> list[torch.Tensor]:
    if not hasattr(module, "original_inv_freq"):
        return []
    rotary: Any = module
    compute = ROPE_INIT_FUNCTIONS.get(rotary.rope_type, rotary.compute_default_rope_parameters)
    with torch.device("cpu"):
        frequencies, rotary.attention_scaling = compute(rotary.config)
    rotary.inv_freq = frequencies.to(device)
    rotary.original_inv_freq = frequencies.clone().to(device)
    return [rotary.inv_freq, rotary.original_inv_freq]
