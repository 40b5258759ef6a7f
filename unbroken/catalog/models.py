"""The models and GPUs that the trainer knows, for whoever counts without it.

Sources: training/model/presets.py and training/compute.py; a test holds them together.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """What operations and checkpoints are counted from."""

    parameters: int
    layers: int
    width: int

    @property
    def checkpoint_bytes(self) -> int:
        """Weights and both of AdamW's moments in fp32; the rest of a checkpoint is small."""
        return 12 * self.parameters


SHAPES = {
    "mathstral-7b": Shape(7_248_023_552, 32, 4096),
    "llama3-8b": Shape(8_030_261_248, 32, 4096),
    "llama3-70b": Shape(70_553_706_496, 80, 8192),
    "tiny": Shape(123_200, 2, 64),
    "tiny-llama": Shape(98_624, 2, 64),
}

BF16_TFLOPS = {"A100": 312.0, "H100": 989.0, "H200": 989.0, "B200": 2250.0, "L4": 121.0, "L40S": 362.0}
"""Peak of one GPU, dense, in bf16 (NVIDIA's data sheets), by the names of the instance types' GPUs."""
