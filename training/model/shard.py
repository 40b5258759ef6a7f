"""Splitting a model over the ranks with FSDP2, and what each layer's forward pass is wrapped in first."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
)

from training.config import JobConfig
from training.model.build import layers
from training.model.loss import give_loss
from training.model.memory import Forward, OffloadedLayers, recomputing
from training.model.presets import Shape
from training.model.shape import shard_group


def make_mesh(config: JobConfig, device: torch.device, world: int, ranks_per_node: int) -> DeviceMesh:
    """The ranks as FSDP sees them: one line, or with hybrid sharding groups that hold a copy each."""
    group = shard_group(config, world, ranks_per_node)
    if config.sharding == "full":
        return init_device_mesh(device.type, (world,))
    return init_device_mesh(device.type, (world // group, group), mesh_dim_names=("copies", "shards"))


def shard(model: nn.Module, shape: Shape, config: JobConfig, mesh: DeviceMesh) -> None:
    """Split every layer over the ranks; dropout, and what saves memory or time, is put in first.

    The embedding, and the output with the last norm, are gathered by themselves too, when they are used;
    where they are one matrix it stays from the beginning to the end.
    """
    _add_dropout(model, shape)
    _wrap_layers(model, config, mesh.device_type)
    give_loss(model, shape)
    policies: dict[str, Any] = {"mesh": mesh, "mp_policy": _precision(config)}
    policies["offload_policy"] = _offload(config, mesh.device_type)
    embedding, *end = (model.get_submodule(name) for name in ("model.embed_tokens", "model.norm", "lm_head"))
    first, last = ([], [embedding, *end]) if shape.tie_word_embeddings else ([embedding], end)
    for part in (*first, *layers(model)):
        fully_shard(part, reshard_after_forward=config.reshard_after_forward, **policies)
    fully_shard(last, reshard_after_forward=False, **policies)  # its backward pass comes next
    fully_shard(model, **policies)
    if not config.limit_all_gathers:
        _gather_two_ahead(layers(model))


def parameter_device(config: JobConfig, device: torch.device) -> torch.device:
    """Where shards, gradients and the optimizer's state lie."""
    return torch.device("cpu") if config.cpu_offload else device


def groups(model: nn.Module) -> list[dist.ProcessGroup]:
    """The groups of ranks in which a sharded model is gathered, and its gradients are summed."""
    mesh: DeviceMesh = next(model.parameters()).device_mesh  # type: ignore[attr-defined]  # a DTensor
    return mesh.get_all_groups()


def _wrap_layers(model: nn.Module, config: JobConfig, device_type: str) -> None:
    """From the inside out: recomputing, compiling, and moving what is still saved to the host's memory."""
    # on a CPU the memory of the device is the host's: nothing to move
    offloaded = OffloadedLayers(config.offload_horizon) if config.activation_offloading else None
    for number, layer in enumerate(layers(model)):
        forward: Forward = layer.forward
        if config.activation_checkpointing:
            forward = recomputing(forward, selective=config.activation_checkpointing == "selective")
        if config.compile:
            forward = torch.compile(forward)
        if offloaded and device_type != "cpu":
            forward = offloaded.wrap(number, forward)
        layer.forward = forward


def _precision(config: JobConfig) -> MixedPrecisionPolicy:
    if config.precision == "fp32":
        return MixedPrecisionPolicy()
    return MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


def _offload(config: JobConfig, device_type: str) -> OffloadPolicy:
    return CPUOffloadPolicy(pin_memory=device_type == "cuda") if config.cpu_offload else OffloadPolicy()


def _gather_two_ahead(sharded: list[nn.Module]) -> None:
    """FSDP2 gathers the next layer while one computes; here the one after it as well, in both directions."""
    for direction, call in (
        (sharded, FSDPModule.set_modules_to_forward_prefetch),
        (sharded[::-1], FSDPModule.set_modules_to_backward_prefetch),
    ):
        for place, layer in enumerate(direction):
            call(layer, direction[place + 1 : place + 3])  # type: ignore[arg-type]  # fully_shard made them so


def _add_dropout(model: nn.Module, shape: Shape) -> None:
    """Dropout where the library has none: on the embedding, on what each layer adds, before the output."""
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
