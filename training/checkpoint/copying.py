"""Copying a checkpoint from the nodes' disks to the shared directory while training goes on.

Each rank copies its share of the files, no faster than it may; what is read is held against the manifest on
the way, and the copy is committed there like any other checkpoint.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from training.checkpoint import transfer
from training.checkpoint.group import Ranks
from training.checkpoint.manifest import Checkpoint, CheckpointError
from training.checkpoint.tier import Tier


class Copier:
    """Copies one checkpoint at a time, in a thread. `ranks` is a group that only this thread uses; `target`
    is made with it, and so is `source`."""

    def __init__(
        self, source: Tier, target: Tier, ranks: Ranks, rate: float | None, log: Callable[[str], None]
    ) -> None:
        self._source, self._target, self._ranks, self._rate, self._log = source, target, ranks, rate, log
        self._thread: threading.Thread | None = None
        self.copying: int | None = None
        """Step of the checkpoint that is being copied; it may not be removed from the nodes."""
        self.copied: int | None = None
        """Step of the last one copied."""
        self.trouble: str | None = None
        self._from_nodes: Checkpoint | None = None

    @property
    def idle(self) -> bool:
        """Whether another one can be taken on."""
        return self._thread is None or not self._thread.is_alive()

    def went_on_from(self, found: Checkpoint, *, on_nodes: bool) -> None:
        """The run goes on from this checkpoint: it stays, and is copied if it was found on the nodes."""
        self._target.verified = found.content.step
        if on_nodes:
            self._from_nodes = found
            self.start(found)

    def start(self, found: Checkpoint) -> threading.Thread:
        """Begin to copy; every rank does at the same save."""
        self.copying, self.trouble = found.content.step, None
        self._thread = threading.Thread(target=self._run, args=(found,), name="checkpoint-copy", daemon=True)
        self._thread.start()
        return self._thread

    def finish(self, newest: Checkpoint | None) -> None:
        """Wait until the newest checkpoint of this attempt is copied, or without one what it went on from.

        Raises CheckpointError if it cannot be.
        """
        found = newest or self._from_nodes
        if found is None:
            return
        if self._thread:
            self._thread.join()
        if self.copied != found.content.step:
            self.start(found).join()
        if self.trouble:
            raise CheckpointError(self.trouble)

    def _run(self, found: Checkpoint) -> None:
        try:
            if not self._ranks.first(lambda: self._target.holds(found.content)):
                self._log(f"Checkpoint copied to {self._copy(found)}")
        except Exception as error:  # whatever it is, training goes on: the checkpoint is on the nodes
            self.trouble = f"Checkpoint of step {found.content.step} is on the nodes only: {error}"
            self._target.abandon(found.content.step)
            self._log(self.trouble)
        else:
            self.copied = found.content.step
        finally:
            self.copying = None

    def _copy(self, found: Checkpoint) -> Path:
        files = self._source.share(found)
        self._target.demand_space(found.content.size, f"the checkpoint of step {found.content.step}")
        aside = self._target.begin(found.content.step)

        def copy_share() -> None:
            for name, expected in files.items():
                transfer.copy(found.path / name, aside / name, expected, self._rate)

        self._ranks.everywhere(copy_share)
        path = self._target.commit(found.content)
        self._target.prune(set())
        return path
