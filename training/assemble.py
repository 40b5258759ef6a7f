"""From a job's settings to a sharded model with its first values, and what takes and reports its steps."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

import torch
from torch import nn

from training.attempt import Attempt
from training.compute import device_named, flops_per_token
from training.config import JobConfig
from training.model import weights
from training.model.build import build
from training.model.documents import has_flash
from training.model.presets import Shape
from training.model.shape import Model
from training.model.shard import make_mesh, parameter_device, shard
from training.model.values import allocate, initialise
from training.optim import adamw
from training.reporter import Rates, Reporter
from training.step import Stepper


def sharded_model(
    config: JobConfig, shape: Shape, device: torch.device, world: int, log: Callable[[str], None]
) -> nn.Module:
    """The model split over the ranks, its memory allocated and not yet filled. A collective."""
    ranks_per_node = int(os.environ.get("LOCAL_WORLD_SIZE", world))
    mesh = make_mesh(config, device, world, ranks_per_node)
    model = build(shape)
    count = sum(parameter.numel() for parameter in model.parameters())
    log(f"Created model with total parameters: {count} ({count / 1e9:.2f} B)")
    shard(model, shape, config, mesh)
    allocate(model, device, parameter_device(config, device))
    log("Wrapped model with FSDP")
    return model.train()


def stepper(
    config: JobConfig, shape: Shape, device: torch.device, world: int, log: Callable[[str], None]
) -> Stepper:
    """What takes the steps, with the model and its optimizer. A collective."""
    model = sharded_model(config, shape, device, world, log)
    flash = has_flash(shape, config, device)
    return Stepper(model, adamw(model, config), device, config.grad_clip, flash, config.compile)


def first_values(model: nn.Module, chosen: Model, seed: int, log: Callable[[str], None]) -> None:
    """Published weights or random ones; a checkpoint makes neither necessary."""
    if chosen.weights is None:
        initialise(model, chosen.shape, seed)
        return
    log(f"Loading weights from {chosen.weights}")
    weights.load(model, chosen.weights)


def reporter(
    config: JobConfig,
    attempt: Attempt,
    shape: Shape,
    device: torch.device,
    world: int,
    log: Callable[[str], None],
) -> Reporter:
    """What reports this rank's steps; the first rank's also writes."""
    return Reporter(
        run_directory=attempt.run_directory,
        attempt=attempt.state.attempt,
        rates=_rates(config, shape, device, world),
        log_every=config.log_every,
        compare_every=config.compare_every,
        phases=attempt.phases,
        log=log,
        writes=attempt.rank == 0,
        memory_gib=functools.partial(_memory_gib, device),
    )


def _rates(config: JobConfig, shape: Shape, device: torch.device, world: int) -> Rates:
    """What turns a step's time into tokens a second and utilisation."""
    found = device_named(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
    flops = functools.partial(flops_per_token, shape)
    return Rates(world, config.context_length, flops, found.peak_flops if found else None)


def _memory_gib(device: torch.device) -> float | None:
    """Most memory of the GPU that was held so far; None on a CPU. Does not wait for the GPU."""
    return torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else None
