"""Ways to keep less for the backward pass: computing it again, or moving it to the host's memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

Forward = Callable[..., Any]

KEPT = frozenset(
    "aten::mm aten::addmm aten::bmm aten::_scaled_dot_product_flash_attention "
    "aten::_scaled_dot_product_efficient_attention aten::_scaled_dot_product_cudnn_attention "
    "aten::_scaled_dot_product_flash_attention_for_cpu torch_attn::_varlen_attn".split()
)
"""Operations whose results selective checkpointing keeps: most of the arithmetic, a part of the memory."""


def recomputing(forward: Forward, *, selective: bool) -> Forward:
    """A forward pass that keeps its inputs and computes the rest again in the backward pass; `selective`:
    that also keeps the results of KEPT operations. Random numbers come out the same the second time."""
    options: dict[str, Any] = {"use_reentrant": False}
    if selective:
        options["context_fn"] = functools.partial(create_selective_checkpoint_contexts, _policy)

    @functools.wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(forward, *args, **options, **kwargs)

    return run


def _policy(_context: Any, operation: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if operation.name() in KEPT else CheckpointPolicy.PREFER_RECOMPUTE


@dataclass(eq=False)
class _Moved:
    """A tensor saved for the backward pass: its copy in host memory, and for a while one on the GPU."""

    host: torch.Tensor
    device: torch.device
    loaded: torch.Tensor | None = None
    arrived: torch.cuda.Event | None = None
    """When `loaded` is there, on a GPU."""


@dataclass
class OffloadedLayers:
    """Moves what layers save for the backward pass to host memory. On the way back at most `horizon` layers
    are on the device: the one at work and those before it, which are copied while it works.

    Parameters stay where they are: FSDP gathers and frees them. On CUDA the copies run on a stream of their
    own, from pinned memory; that has not been run on a GPU.
    """

    horizon: int
    _layers: dict[int, list[_Moved]] = field(default_factory=dict)

    def wrap(self, number: int, forward: Forward) -> Forward:
        """The forward pass of layer `number` (counted from 0) with its saved tensors moved."""

        @functools.wraps(forward)
        def run(*args: Any, **kwargs: Any) -> Any:
            if not torch.is_grad_enabled():
                return forward(*args, **kwargs)
            self._layers[number] = []
            hooks = torch.autograd.graph.saved_tensors_hooks(
                functools.partial(self._pack, number), functools.partial(self._unpack, number)
            )
            with hooks:
                return forward(*args, **kwargs)

        return run

    def _pack(self, number: int, tensor: torch.Tensor) -> _Moved | torch.Tensor:
        if isinstance(tensor, nn.Parameter) or isinstance(tensor._base, nn.Parameter):
            return tensor
        moved = _Moved(_to_host(tensor), tensor.device)
        self._layers[number].append(moved)
        return moved

    def _unpack(self, number: int, moved: _Moved | torch.Tensor) -> torch.Tensor:
        if isinstance(moved, torch.Tensor):
            return moved
        for other in self._layers:
            if other > number:
                self._layers[other] = []  # their backward pass is over
        for near in range(number, max(-1, number - self.horizon), -1):
            for each in self._layers.get(near, []):
                _copy_back(each)
        return _back(moved)


@functools.cache
def _copies() -> torch.cuda.Stream:
    return torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch has no type here


def _to_host(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.device.type != "cuda":
        return tensor.detach().clone()
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    _copies().wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(_copies()):
        host.copy_(tensor.detach(), non_blocking=True)
    tensor.record_stream(_copies())
    return host


def _copy_back(moved: _Moved) -> torch.Tensor:
    """Its copy on the device, begun if it was not; on a GPU it is there when `arrived` says so."""
    if moved.loaded is not None:
        return moved.loaded
    if moved.device.type != "cuda":
        moved.loaded = moved.host.clone()
        return moved.loaded
    with torch.cuda.stream(_copies()):  # after its copy to the host, which the same stream made
        moved.loaded = moved.host.to(moved.device, non_blocking=True)
        moved.arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch has no type here
        moved.arrived.record()
    return moved.loaded


def _back(moved: _Moved) -> torch.Tensor:
    """Its copy on the device, to be used. This one is waited for, and not those of the layers before it,
    which are on their way while this one's layer works."""
    tensor = _copy_back(moved)
    if moved.arrived is not None:
        torch.cuda.current_stream().wait_event(moved.arrived)
        tensor.record_stream(torch.cuda.current_stream())
    return tensor
