"""Splitting a model over the ranks with FSDP2; dropout and activation checkpointing are put in first."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from training.config import JobConfig
from training.model.build import layers
from training.model.presets import Shape


def shard(model: nn.Module, shape: Shape, config: JobConfig, mesh: DeviceMesh) -> None:
    """Split every layer over the ranks; dropout and activation checkpointing are put in first."""
    _add_dropout(model, shape)
    policy = MixedPrecisionPolicy()
    if config.precision == "bf16":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in layers(model):
        if config.activation_checkpointing:
            layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def _add_dropout(model: nn.Module, shape: Shape) -> None:
    """Dropout on the embedding and on what each layer adds; the library has neither."""
    _dropout_after(model.get_submodule("model.embed_tokens"), shape.embedding_dropout)
    for layer in layers(model):
        _dropout_after(layer.get_submodule("self_attn"), shape.residual_dropout)
        _dropout_after(layer.get_submodule("mlp"), shape.residual_dropout)
    _dropout_after(model.get_submodule("model.norm"), shape.summary_dropout)


def _dropout_after(module: nn.Module, probability: float) -> None:
    def hook(module: nn.Module, _inputs: Any, output: Any) -> Any:
        if isinstance(output, tuple):  # attention also returns its weights
            return (nn.functional.dropout(output[0], probability, module.training), *output[1:])
        return nn.functional.dropout(output, probability, module.training)

    if probability > 0:
        module.register_forward_hook(hook)
