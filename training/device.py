"""Taking values to the device of a rank."""

from __future__ import annotations

import torch


def put(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The values on a device. From pinned memory: the processor would wait for the GPU otherwise."""
    if device.type != "cuda":
        return values.to(device)
    return values.pin_memory().to(device, non_blocking=True)
