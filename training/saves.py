"""Checkpoints as the loop sees them: begun, heard of, finished; in the ledger and in run_state.json."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from training.attempt import Attempt
from training.checkpoint.manifest import Checkpoint, Position
from training.checkpoint.saving import Checkpoints


@dataclass(frozen=True)
class Saves:
    """A run's saves. The run's state names a checkpoint once it is committed."""

    checkpoints: Checkpoints
    attempt: Attempt
    log: Callable[[str], None]

    def begin(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, position: Position, device: torch.device
    ) -> None:
        """Begin a checkpoint. A collective. The ledger is written before and after it: see Ledger.write."""
        phases = self.attempt.phases
        phases.write()
        with phases.within("save"):
            self.checkpoints.save(model, optimizer, position, device)
        phases.write()

    def hear(self) -> None:
        """Note what has been committed since the last call."""
        while committed := self.checkpoints.poll():
            self._note(committed)

    def finish(self) -> None:
        """Wait until the last checkpoint is committed. A collective."""
        with self.attempt.phases.within("save"):
            committed = self.checkpoints.finish()
        if committed is not None:
            self._note(committed)

    def let_end(self) -> None:
        """After an error of this rank: what is being written is of a step before, and good."""
        self.attempt.phases.enter("save")
        self.checkpoints.give_time()
        self.hear()

    def _note(self, committed: Checkpoint) -> None:
        self.log(f"Checkpoint saved to {committed.path}")
        try:
            self.attempt.note(step=committed.content.step, checkpoint=committed.path.name)
        except OSError as error:  # a full disk: the checkpoint is there, and the next one is noted or the end
            self.log(f"run_state.json: {error.strerror}; it does not name this checkpoint")
