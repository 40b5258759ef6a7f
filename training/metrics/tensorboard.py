"""Figures for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from training.metrics.record import Record


class TensorBoard:
    """Event files in a directory. Steps after the one a run goes on from are drawn anew."""

    def __init__(self, directory: Path, step: int) -> None:
        self._writer = SummaryWriter(str(directory), purge_step=step + 1 if step else None)

    def step(self, record: Record, seconds: Mapping[str, float]) -> None:
        """See Sink."""
        for name, value in record.numbers().items():
            self._writer.add_scalar(f"training/{name}", value, record.step)

    def evaluated(self, step: int, loss: float) -> None:
        """See Sink."""
        self._writer.add_scalar("validation/loss", loss, step)

    def close(self, status: str) -> None:
        """See Sink."""
        self._writer.close()
