"""A Mistral model from a preset: built without memory, checked, sharded with FSDP2, then given real values.

Weights are drawn from (seed, parameter name) alone, so they are the same for every number of ranks. Loading
real weights and training do not live here.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.utils.checkpoint import checkpoint
from transformers.models.mistral.configuration_mistral import MistralConfig
from transformers.models.mistral.modeling_mistral import MistralForCausalLM

from training.config import JobConfig
from training.presets import PRESETS


def build(config: JobConfig) -> nn.Module:
    """The model on the meta device; takes no memory. Its parameter count is checked against the preset's."""
    with torch.device("meta"):
        model: nn.Module = MistralForCausalLM(_hugging_face_config(config))
    expected = PRESETS[config.preset].num_parameters
    found = sum(parameter.numel() for parameter in model.parameters())
    if found != expected:
        raise AssertionError(f"preset {config.preset}: {found} parameters, not {expected}")
    return model


def shard(model: nn.Module, config: JobConfig, mesh: DeviceMesh) -> None:
    """Split every layer over the ranks; dropout and activation checkpointing are put in first."""
    _add_dropout(model, config)
    policy = MixedPrecisionPolicy()
    if config.precision == "bf16":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in _layers(model):
        if config.activation_checkpointing:
            layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def initialise(model: nn.Module, config: JobConfig, device: torch.device) -> None:
    """Take the memory and fill it: weights normal, norms one, and the rotary frequencies computed again.

    The buffers matter: they are not in checkpoints, and after `to_empty` they hold whatever the memory held.
    """
    model.to_empty(device=device)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            _fill(parameter, _initial_value(name, parameter, config, device))
        filled = {id(buffer) for module in model.modules() for buffer in _fill_rotary(module)}
    missed = [name for name, buffer in model.named_buffers() if id(buffer) not in filled]
    if missed:
        raise AssertionError(f"buffers without a value: {missed}")


def _hugging_face_config(config: JobConfig) -> MistralConfig:
    shape = PRESETS[config.preset]
    implementation: dict[str, Any] = {"attn_implementation": "sdpa"}
    return MistralConfig(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=shape.max_context_length,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
        initializer_range=config.initializer_range,
        attention_dropout=config.attention_dropout,
        sliding_window=None,  # the library's default of 4096 would cut longer contexts short
        use_cache=False,
        **implementation,
    )


def _layers(model: nn.Module) -> list[nn.Module]:
    return list(model.get_submodule("model.layers").children())


def _add_dropout(model: nn.Module, config: JobConfig) -> None:
    """Dropout on the embedding and on what each layer adds; the library has neither."""
    _dropout_after(model.get_submodule("model.embed_tokens"), config.embedding_dropout)
    for layer in _layers(model):
        _dropout_after(layer.get_submodule("self_attn"), config.residual_dropout)
        _dropout_after(layer.get_submodule("mlp"), config.residual_dropout)


def _dropout_after(module: nn.Module, probability: float) -> None:
    def hook(module: nn.Module, _inputs: Any, output: Any) -> Any:
        if isinstance(output, tuple):  # attention also returns its weights
            return (nn.functional.dropout(output[0], probability, module.training), *output[1:])
        return nn.functional.dropout(output, probability, module.training)

    if probability > 0:
        module.register_forward_hook(hook)


def _initial_value(
    name: str, parameter: nn.Parameter, config: JobConfig, device: torch.device
) -> torch.Tensor:
    if parameter.dim() == 1:  # the scale of a norm
        return torch.ones(parameter.shape, device=device)
    generator = torch.Generator(device).manual_seed(zlib.crc32(name.encode()) + (config.seed << 32))
    value = torch.empty(parameter.shape, device=device)
    return value.normal_(0.0, config.initializer_range, generator=generator)


def _fill(parameter: nn.Parameter, value: torch.Tensor) -> None:
    if not isinstance(parameter, DTensor):
        parameter.copy_(value)
        return
    mine = distribute_tensor(value, parameter.device_mesh, parameter.placements, src_data_rank=None)
    parameter.to_local().copy_(mine.to_local())


def _fill_rotary(module: nn.Module) -> list[torch.Tensor]:
    if not hasattr(module, "compute_default_rope_parameters"):
        return []
    rotary: Any = module
    frequencies, _scaling = rotary.compute_default_rope_parameters(rotary.config)
    buffers = [rotary.inv_freq, rotary.original_inv_freq]
    for buffer in buffers:
        buffer.copy_(frequencies)
    return buffers
