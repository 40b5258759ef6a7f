"""What a checkpoint holds: weights, both of AdamW's moments, and the random state of every rank.

Learning rate and order of the samples have no state: they follow from the step and the samples used, which
the manifest holds. The optimizer's settings are the job file's, also after a resume.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from training import rng


def rng_key(rank: int) -> str:
    """A key of its own for each rank: the library keeps one of what several ranks save under one name."""
    return f"rng_{rank}"


def capture(
    model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device, rank: int | None
) -> dict[str, Any]:
    """The state as it is, not copied; with the random state if a rank is given."""
    weights, moments = get_state_dict(model, optimizer)
    state: dict[str, Any] = {"model": weights, "optimizer": moments["state"]}
    if rank is not None:
        state[rng_key(rank)] = rng.capture(device)
    return state


def put_back(model: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Give model and optimizer what was loaded. The random state comes later: see rng.py."""
    _, now = get_state_dict(model, optimizer)
    moments = {"state": state["optimizer"], "param_groups": now["param_groups"]}
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=moments)


def stager(device: torch.device) -> DefaultStager:
    """Copies a state into host memory that is used again by the next save; pinned where a GPU copies to it.

    Copying from a GPU has not been tried.
    """
    gpu = device.type == "cuda"
    options = StagingOptions(
        use_pinned_memory=gpu, use_shared_memory=False, use_async_staging=False, use_non_blocking_copy=gpu
    )
    return DefaultStager(options)


def size_of(model: nn.Module) -> int:
    """Bytes of a checkpoint: each parameter and two moments of it."""
    return sum(3 * each.numel() * each.element_size() for each in model.parameters())
