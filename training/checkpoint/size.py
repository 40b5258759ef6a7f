"""How much room checkpoints take. Standard library only: a plan is made where nothing is installed."""

from __future__ import annotations

_MARGIN = 1.02  # names, random states and the file system's own blocks come on top of weights and moments


def needed_for(count: int, size: int) -> int:
    """Bytes that `count` checkpoints take, of each of which `size` bytes are weights and moments."""
    return int(size * count * _MARGIN)
