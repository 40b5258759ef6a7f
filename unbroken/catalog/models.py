"""Shapes of the models that the trainer knows, for whoever counts without torch.

Source: training/model/presets.py; a test holds the two together.
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
