"""Published weights into a sharded model: each rank reads its own rows, and no rank holds a whole copy.

The library's reader of such directories (HuggingFaceStorageReader) is not used: it takes every safetensors
file that lies there, also those that the index does not name, and of two tensors of one name either.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from training.errors import JobError

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
_NUMBERS = ("F64", "F32", "F16", "BF16")
"""Kinds of numbers that are the weights themselves; those of quantised ones mean nothing without a scale."""
_DERIVED = ("rotary_emb.inv_freq",)
"""Ends of names that old exports have and that are computed here."""


class WeightsError(JobError):
    """A directory whose tensors are not those of the model."""


def load(model: nn.Module, directory: Path) -> None:
    """Fill every parameter from the safetensors files of a Hugging Face directory, in the model's own number
    format. Raises WeightsError where tensors are missing, left over or of another size."""
    places = files(directory)
    wanted = dict(model.named_parameters())
    known = {name for name, _ in model.named_parameters(remove_duplicate=False)}  # both names of a tied one
    _check_names(set(places), set(wanted), known)
    with torch.no_grad():
        for path in sorted(set(places.values())):
            with _opened(path) as opened:
                for name in wanted:
                    if places.get(name) == path:
                        _fill(wanted[name], opened.get_slice(name), name)


def files(directory: Path) -> dict[str, Path]:
    """Which file holds each tensor. Raises WeightsError where the directory has no safetensors."""
    if (index := directory / INDEX).is_file():
        names = _named_files(index)
        if lost := sorted(file for file in set(names.values()) if not (directory / file).is_file()):
            raise WeightsError(f"{directory}: {_some(lost)} of {INDEX} is missing", "fetch the weights again")
        return {name: directory / file for name, file in names.items()}
    if not (path := directory / SINGLE).is_file():
        raise WeightsError(f"{directory}: neither {SINGLE} nor {INDEX}", "save it as safetensors first")
    with _opened(path) as opened:
        return dict.fromkeys(opened.keys(), path)


def _named_files(index: Path) -> dict[str, str]:
    try:
        return dict(json.loads(index.read_text(encoding="utf-8"))["weight_map"])
    except (ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"{index}: {type(error).__name__}: {error}", "fetch the weights again") from None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file of tensors. What is wrong with it shows when it is opened or when a tensor is asked for."""
    try:
        with safe_open(path, framework="pt") as opened:
            yield opened
    except SafetensorError as error:
        raise WeightsError(f"{path}: {error}", "fetch the weights again") from None


def _check_names(given: set[str], wanted: set[str], known: set[str]) -> None:
    if missing := sorted(wanted - given):
        raise WeightsError(f"the weights lack {_some(missing)}")
    left_over = sorted(name for name in given - known if not name.endswith(_DERIVED))
    if left_over:
        raise WeightsError(f"the weights have {_some(left_over)}, which this model has not")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _fill(parameter: nn.Parameter, stored: Any, name: str) -> None:
    """Copy this rank's part; `stored` is read only where it is sliced."""
    if (kind := stored.get_dtype()) not in _NUMBERS:
        raise WeightsError(
            f"{name} is of {kind} numbers in the weights", "give weights that are not quantised"
        )
    if (found := tuple(stored.get_shape())) != tuple(parameter.shape):
        raise WeightsError(f"{name} is {found} in the weights, not {tuple(parameter.shape)}")
    if not isinstance(parameter, DTensor):
        parameter.copy_(stored[:])
        return
    size, start = compute_local_shape_and_global_offset(
        parameter.shape, parameter.device_mesh, parameter.placements
    )
    if all(size):
        parameter.to_local().copy_(stored[tuple(_ranges(size, start))])


def _ranges(size: tuple[int, ...], start: tuple[int, ...]) -> Iterator[slice]:
    for length, first in zip(size, start, strict=True):
        yield slice(first, first + length)
