"""One save under way: a thread writes, hashes and commits the staged state while training goes on."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint import state_dict_saver
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemWriter
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from training.checkpoint import hashes
from training.checkpoint.group import Ranks, words
from training.checkpoint.index import METADATA, DataOnlyReader
from training.checkpoint.interval import Measured
from training.checkpoint.manifest import Checkpoint, FileEntry, Manifest, Position
from training.checkpoint.tier import Tier
from training.errors import in_words


@dataclass(frozen=True)
class Job:
    """What to save: the staged state, its place in the run, and what the manifest says besides."""

    state: dict[str, Any]
    position: Position
    size: int
    settings: dict[str, Any]
    model: dict[str, Any]
    stall: float
    step_seconds: float
    may_copy: bool


@dataclass(frozen=True)
class Done:
    """A committed checkpoint, what it cost the slowest rank, and whether all ranks may copy it."""

    checkpoint: Checkpoint
    measured: Measured
    may_copy: bool


class _Writer(FileSystemWriter):
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """As the library's, but an error of the file system is told: torch's archives hide it behind
        their own, which comes when they are closed."""
        try:
            return super().write_data(plan, planner)
        except RuntimeError as error:
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


class Save:
    """A save in its thread. `result` is Done or the reason of a failure once `running` is false."""

    def __init__(self, job: Job, tier: Tier, ranks: Ranks, after: Callable[[Done], None]) -> None:
        self._job, self._tier, self._ranks, self._after = job, tier, ranks, after
        self._began = time.monotonic()
        self.result: Done | str | None = None
        self._thread = threading.Thread(target=self._run, name="checkpoint-save", daemon=True)
        self._thread.start()

    @property
    def step(self) -> int:
        """The step that is saved."""
        return self._job.position.step

    @property
    def running(self) -> bool:
        """Whether the thread is at work."""
        return self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Return when the save has ended, well or not, or after so many seconds."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            done = self._save()
            self._after(done)
            self.result = done
        except CheckpointException as error:  # no Exception: the library tells what went wrong on each rank
            self._fail(words(error))
        except Exception as error:  # whatever it is: the checkpoints before this one are untouched
            self._fail(in_words(error))

    def _fail(self, reason: str) -> None:
        self._tier.abandon(self.step)
        self.result = reason

    def _save(self) -> Done:
        position = self._job.position
        self._tier.demand_space(self._job.size, f"the checkpoint of step {position.step}")
        aside = self._tier.begin(position.step)
        # the library tells every rank when writing failed on one
        state_dict_saver.save(self._job.state, storage_writer=_Writer(aside), process_group=self._ranks.group)
        parts = self._ranks.everywhere(lambda: self._hashes(aside))
        took = time.monotonic() - self._began
        content = self._manifest({name: each for part in parts for name, each in part.items()})
        path = self._tier.commit(content)
        told = self._ranks.gather((self._job.stall, took, self._job.step_seconds, self._job.may_copy))
        stalls, saves, steps, may_copy = zip(*told, strict=True)
        return Done(Checkpoint(path, content), Measured(max(stalls), max(saves), steps[0]), all(may_copy))

    def _hashes(self, aside: Path) -> dict[str, FileEntry]:
        """Each rank hashes what it wrote itself; the first also what belongs to all."""
        mine = [path for path in aside.iterdir() if path.name.startswith(f"__{self._ranks.rank}_")]
        if self._ranks.rank == 0:
            DataOnlyReader(aside).read_metadata()  # what another torch writes otherwise is said now
            mine.append(aside / METADATA)
        return {path.name: hashes.entry(path) for path in mine}

    def _manifest(self, files: dict[str, FileEntry]) -> Manifest:
        return Manifest(
            step=self._job.position.step,
            tokens=self._job.position.tokens,
            samples=self._job.position.samples,
            world=self._ranks.world,
            settings=self._job.settings,
            files=files,
            versions={"torch": str(torch.__version__), "python": platform.python_version()},
            model=self._job.model,
        )
