"""The random state of one rank as tensors: taken for a checkpoint, put back before the first step after it.

Building and loading a model draw from these generators, so putting them back must come last (see loop.py).
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch

State = dict[str, torch.Tensor]
"""By generator."""


def capture(device: torch.device) -> State:
    """State of every generator a step may draw from: torch on the CPU and the device, Python's, NumPy's."""
    state = {
        "torch": torch.get_rng_state(),
        "python": torch.tensor(random.getstate()[1], dtype=torch.int64),
        "numpy": _numpy_state(),
    }
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def restore(state: State, device: torch.device) -> None:
    """Put back what `capture` took."""
    torch.set_rng_state(state["torch"])
    random.setstate((3, tuple(state["python"].tolist()), None))
    numbers = state["numpy"].tolist()
    key, place = np.array(numbers[:-1], dtype=np.uint32), int(numbers[-1])
    np.random.set_state(("MT19937", key, place, 0, 0.0))
    if device.type == "cuda":
        torch.cuda.set_rng_state(state["cuda"], device)


def start(seed: int, rank: int) -> None:
    """Seed a fresh run, on the CPU and on every device. Ranks differ, or all would drop the same elements."""
    random.seed(seed * 1_000_003 + rank)
    np.random.seed((seed * 1_000_003 + rank) % 2**32)
    torch.manual_seed(seed * 1_000_003 + rank)


def _numpy_state() -> torch.Tensor:
    state: dict[str, Any] = np.random.get_state(legacy=False)
    inner = state["state"]
    return torch.tensor([*inner["key"].tolist(), int(inner["pos"])], dtype=torch.int64)
