"""What a job is planned for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from training.compute import Device

GIB = 2**30


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the job is to run on. Prices in USD for a GPU and hour."""

    gpus: int
    gpu: str
    """Its name in training/compute.py."""
    device: Device
    shards: int
    """GPUs that share one copy of the parameters."""
    reserve_gib: float
    """Of a GPU's memory, for CUDA, NCCL and fragmentation: an assumption, not a measurement."""
    file_system_gib: int
    utilisation: float
    """Part of the device's peak rate that training reaches: stated by whoever asks, not predicted."""
    price: float | None

    @property
    def usable(self) -> int:
        """Bytes of a GPU's memory besides the reserve."""
        return max(0, int((self.device.memory_gib - self.reserve_gib) * GIB))

    def as_json(self) -> dict[str, Any]:
        """What tells this plan from others, as plain values."""
        return {"world": self.gpus, "gpu": self.gpu, "mfu": self.utilisation}
