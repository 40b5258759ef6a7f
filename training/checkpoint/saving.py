"""The checkpoints of one run, as its training loop uses them.

Every method but `due` and `poll` is a collective: all ranks call it. Trouble with one save does not end the
run: it goes on from the checkpoint before. The third in a row does.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import nn

from training import rng
from training.checkpoint import loading, places, state
from training.checkpoint.background import Done, Job, Save
from training.checkpoint.copying import Copier
from training.checkpoint.group import Ranks
from training.checkpoint.interval import Interval
from training.checkpoint.loading import Asked
from training.checkpoint.manifest import Checkpoint, CheckpointError, Position
from training.checkpoint.tier import Tier
from training.config import JobConfig
from training.data import described

_MOST_FAILURES = 3


class Checkpoints:
    """Saving and loading. `model` is its shape as plain values, for the manifest.

    Raises CheckpointError when a rank does not see the checkpoint directory.
    """

    def __init__(
        self, config: JobConfig, directory: Path, model: dict[str, Any], log: Callable[[str], None]
    ) -> None:
        self._config, self._directory, self._model, self._log = config, directory, model, log
        self._ranks = Ranks(timedelta(seconds=config.init_timeout_seconds))
        self._shared = places.shared(config, directory, self._ranks, log)
        self._local: Tier | None = None
        self._copier: Copier | None = None
        if on_nodes := places.local(config, self._shared, self._ranks, log):
            self._local, self._copier = on_nodes
        per_node = int(os.environ.get("LOCAL_WORLD_SIZE", self._ranks.world))
        nodes = -(-self._ranks.world // per_node)
        self._interval = Interval(config.checkpoint_every, config.failures_per_node_hour, nodes)
        self._stager: Any = None
        self._save: Save | None = None
        self._news: list[Checkpoint] = []
        self._failures = 0
        self._size = 0
        self._newest: Done | None = None
        self._since = time.monotonic(), 0
        self.last_step: int | None = None
        """Step of the newest save that began, or of the checkpoint loaded; the same on every rank."""

    @functools.cached_property
    def _settings(self) -> dict[str, Any]:
        """What a resume must share. Of the text it is known when the data is open, and not before."""
        return {**self._config.shared(), **described.text_of(self._config, self._directory)}

    def load_newest(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device
    ) -> tuple[Checkpoint, rng.State | None] | None:
        """Load the newest checkpoint that verifies, or what resume_from names; None when there never was one.
        Returns the random state of this rank too; None for it when the number of ranks differs.

        Bad ones are set aside. Raises CheckpointError when there were checkpoints and all are bad, when the
        one named is missing, when it was made with other settings, or when there is no room for new ones.
        """
        self._stager, self._size = state.stager(device), state.size_of(model)
        tiers = [self._local, self._shared] if self._local else [self._shared]
        for tier in tiers:
            tier.clean()
        chosen = self._asked() or loading.newest_good(tiers, self._settings)
        step = chosen[1].content.step if chosen else 0
        if self._local:
            self._local.drop_from(step + 1)
        for tier in tiers:
            tier.verified = step if chosen else None
            tier.demand_space_ahead(self._size, self._config.num_steps)
        loaded = (chosen[1], self._load(*chosen, model, optimizer, device)) if chosen else None
        self._interval.saved(step)
        self._since = time.monotonic(), step
        return loaded

    def _load(
        self,
        tier: Tier,
        found: Checkpoint,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        device: torch.device,
    ) -> rng.State | None:
        random_state = loading.load(tier, found, model, optimizer, device, self._ranks, self._log)
        self.last_step = found.content.step
        if self._copier:
            self._copier.went_on_from(found, on_nodes=tier is self._local)
        return random_state

    def due(self, step: int) -> bool:
        """Whether a checkpoint is to be written after this step; the same on every rank."""
        return self._interval.due(step)

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, position: Position, device: torch.device
    ) -> None:
        """Copy the state aside and begin to write it, unless this step is saved already; waits for the save
        before this one.

        Raises CheckpointError when the third save in a row has failed.
        """
        due = time.monotonic()
        self._settle()
        if self.last_step == position.step:
            return
        if self._failures >= _MOST_FAILURES:
            raise CheckpointError(f"{self._failures} checkpoints in a row could not be saved; see the log")
        # only here, where all ranks are, may what the last save cost change the interval
        if self._newest and (words := self._interval.learn(self._newest.measured)):
            self._log(words)
        began = time.monotonic()
        staged = self._stager.stage(state.capture(model, optimizer, device, self._ranks.rank))
        job = Job(
            state=staged,
            position=position,
            size=self._size,
            settings=self._settings,
            model=self._model,
            stall=time.monotonic() - began,
            step_seconds=(due - self._since[0]) / max(1, position.step - self._since[1]),
            may_copy=self._copier is not None and self._copier.idle,
        )
        self._save = Save(job, self._local or self._shared, self._ranks, self._after)
        self._interval.saved(position.step)
        self.last_step = position.step
        self._since = time.monotonic(), position.step

    def poll(self) -> Checkpoint | None:
        """A checkpoint that has been committed since the last call. Cheap; ranks may learn it at different
        steps, so nothing that all must do alike may follow from it."""
        if self._save and not self._save.running:
            self._take(self._save)
        return self._news.pop(0) if self._news else None

    def finish(self) -> Checkpoint | None:
        """Wait until the last checkpoint is where every later start finds it; what `poll` has not told yet.

        Raises CheckpointError when the last save failed.
        """
        self._settle()
        if self._failures:
            raise CheckpointError("the last checkpoint could not be saved; see the log")
        if self._copier:
            self._copier.finish(self._newest.checkpoint if self._newest else None)
        news, self._news = self._news, []
        return news[-1] if news else None

    def give_time(self, seconds: float = 30.0) -> None:
        """For a rank that is about to fail: a save under way may still become a checkpoint, if all ranks'
        threads can finish it. No collective."""
        if self._save:
            self._save.wait(seconds)

    def _settle(self) -> None:
        """Wait for the save under way."""
        if self._save:
            self._save.wait()
            self._take(self._save)
        if self._failures:
            self.last_step = None

    def _take(self, save: Save) -> None:
        self._save = None
        if isinstance(save.result, Done):
            self._newest, self._failures = save.result, 0
            self._news.append(save.result.checkpoint)
        else:
            self._failures += 1
            self._log(f"Checkpoint of step {save.step} could not be saved: {save.result}")

    def _after(self, done: Done) -> None:
        """In the save's thread, when the checkpoint exists."""
        copying = self._copier.copying if self._copier else None
        (self._local or self._shared).prune({copying} if copying is not None else set())
        if self._copier and done.may_copy:
            self._copier.start(done.checkpoint)

    def _asked(self) -> tuple[Tier, Checkpoint] | None:
        """What resume_from names, if the run has not started from it yet."""
        if self._config.resume_from is None:
            return None
        path = self._directory / Path(self._config.resume_from).expanduser()
        asked = Asked(path, self._shared.root, self._ranks, self._log)
        if not asked.is_new():
            return None
        tier, found = asked.find(self._settings)
        asked.follow(found)
        if self._local:
            self._local.drop_from(found.content.step)
        return tier, found
