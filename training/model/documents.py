"""Attention that stays inside documents, for models of the transformers library.

The library's own way (masks from positions that start again) waits for the GPU in every step and has no
flash attention in torch alone. Here the mask is made from positions beside it; or, on GPUs that can,
documents go through torch's flash attention for sequences of different lengths, which needs no mask. The
latter has not been run on a GPU yet.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from training.config import JobConfig
from training.data.batch import Ints
from training.device import put
from training.model.presets import Shape

NAME = "documents"
"""Of this attention, in the library's table."""
_LARGEST_FLASH_HEAD = 256


def has_flash(shape: Shape, config: JobConfig, device: torch.device) -> bool:
    """Whether documents can go through flash attention: bf16 on a GPU since Ampere, and no dropout in it."""
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    suits = shape.attention_dropout == 0 and shape.head_dim <= _LARGEST_FLASH_HEAD
    return suits and config.precision == "bf16"


def keep_apart(
    positions: Ints | None, device: torch.device, *, flash: bool, compiled: bool
) -> dict[str, Any]:
    """What a model is called with besides tokens; positions as in training.data.batch.Batch.

    Without flash attention that is a mask of rows x length x length bytes. A compiled model is told that a
    document may be as long as a row: another number would compile it anew.
    """
    if positions is None:
        return {}
    placed = put(torch.from_numpy(positions), device)
    if not flash:
        return {"position_ids": placed, "attention_mask": mask(placed)}
    ends = put(_ends(positions), device)
    longest = positions.shape[1] if compiled else int(positions.max()) + 1
    return {
        "position_ids": placed,
        "cu_seq_lens_q": ends,
        "cu_seq_lens_k": ends,
        "max_length_q": longest,
        "max_length_k": longest,
    }


def mask(positions: torch.Tensor) -> torch.Tensor:
    """Which token attends to which: itself and earlier ones of its document; (rows, 1, length, length)."""
    number = (positions == 0).cumsum(-1)
    same = number[:, None, :, None] == number[:, None, None, :]
    return same.tril_()


def _ends(positions: Ints) -> torch.Tensor:
    """Where each document of all rows, laid one after the other, begins, and where the last one ends."""
    flat = torch.from_numpy(positions).flatten()
    starts = (flat == 0).nonzero().flatten()
    return torch.cat([starts, torch.tensor([flat.numel()])]).to(torch.int32)


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    cu_seq_lens_q: torch.Tensor | None = None,
    **more: Any,
) -> tuple[torch.Tensor, None]:
    """The library's signature; tensors are (rows, heads, length, size of a head)."""
    if cu_seq_lens_q is None:
        more = {name: more[name] for name in ("dropout", "scaling")}
        attended: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, **more
        )
        return attended
    return _flash(query, key, value, cu_seq_lens_q, more["max_length_q"], more["scaling"]), None


def _flash(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    ends: torch.Tensor,
    longest: int,
    scaling: float,
) -> torch.Tensor:
    from torch.nn.attention import varlen

    rows, _heads, length, _size = query.shape
    query, key, value = (each.transpose(1, 2).flatten(0, 1) for each in (query, key, value))
    causal = (-1, 0)
    attended: Any = varlen.varlen_attn(
        query, key, value, ends, ends, longest, longest, scale=scaling, window_size=causal, enable_gqa=True
    )
    return torch.unflatten(attended, 0, (rows, length))


AttentionInterface.register(NAME, _attend)
