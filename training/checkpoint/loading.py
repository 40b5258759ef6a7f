"""Finding the checkpoint to go on from, verifying it, and loading it. Every function is a collective."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint import state_dict_loader
from torch.distributed.checkpoint.api import CheckpointException

from training import rng
from training.checkpoint import manifest, retention, state
from training.checkpoint.group import Ranks, words
from training.checkpoint.manifest import Checkpoint, CheckpointError
from training.checkpoint.retention import Kept
from training.checkpoint.tier import Tier
from training.files import replace_text
from training.words import counted

_FOLLOWED = "resumed-from.json"


def newest_good(tiers: Sequence[Tier], settings: Mapping[str, Any]) -> tuple[Tier, Checkpoint] | None:
    """The newest checkpoint that verifies, by step; of one step the one in the tier that comes first.

    Bad ones are set aside. None when there never was one. Raises CheckpointError when there were checkpoints
    and all are bad, or, before its files are read, when one was made with other settings.
    """
    while candidates := [(tier, found) for tier in tiers if (found := tier.newest())]:
        tier, found = max(candidates, key=lambda candidate: candidate[1].content.step)
        found.content.demand_settings(settings, found.path)
        if reasons := tier.faults(found):
            tier.set_aside(found, "; ".join(reasons))
            continue
        return tier, found
    if any([tier.any_set_aside() for tier in tiers]):
        root = tiers[-1].root
        hint = "put a good checkpoint back, or remove set-aside to train from the start"
        what = f"{root}: every checkpoint is bad; the reasons are in {root}/set-aside"
        raise CheckpointError(what, hint, final=True)
    return None


class Asked:
    """The checkpoint that `resume_from` names. It is followed once: later starts go on from the run's own."""

    def __init__(self, path: Path, root: Path, ranks: Ranks, log: Callable[[str], None]) -> None:
        self._path, self._root, self._ranks, self._log = path, root, ranks, log
        self._note = root / _FOLLOWED

    def is_new(self) -> bool:
        """Whether this run has not started from it yet. Raises CheckpointError where it is missing."""
        return self._ranks.first(self._is_new)

    def find(self, settings: Mapping[str, Any]) -> tuple[Tier, Checkpoint]:
        """The checkpoint, or the newest good one of a directory of them; nothing there is changed.

        Raises CheckpointError where none is good, or the newest was made with other settings.
        """
        tier = Tier(self._path.parent, Kept(2), self._ranks, list(range(self._ranks.world)), self._log)
        for found in self._ranks.first(self._readable):
            found.content.demand_settings(settings, found.path)
            if not (reasons := tier.faults(found)):
                return tier, found
            self._log(f"Checkpoint {found.path} is bad ({'; '.join(reasons)})")
        what = f"resume_from: {self._path} holds no good checkpoint"
        raise CheckpointError(what, "name another one, see the log", final=True)

    def follow(self, found: Checkpoint) -> None:
        """Note that the run starts from it; the run's own later checkpoints are put aside."""
        self._ranks.first(lambda: self._follow(found))

    def _is_new(self) -> bool:
        path, step = self._followed()
        if path == str(self._path) and any(own >= step for own in retention.committed(self._root)):
            return False  # also where it is gone: retention removes one of the run's own in the end
        if not self._path.is_dir():
            hint = "name a checkpoint (step-NNNNNNNN) or a directory that holds some"
            raise CheckpointError(f"resume_from: {self._path} does not exist", hint, final=True)
        return True

    def _followed(self) -> tuple[str | None, int]:
        """What the run started from last, and the step of the checkpoint that was there."""
        if not self._note.exists():
            return None, 0
        note = json.loads(self._note.read_text(encoding="utf-8"))
        return note["path"], note["step"]

    def _readable(self) -> list[Checkpoint]:
        readable = []
        for path in list(retention.committed(self._path).values()) or [self._path]:
            try:
                readable.append(Checkpoint(path, manifest.read(path)))
            except ValueError as error:
                self._log(f"Checkpoint {path} is bad ({error})")
        return readable

    def _follow(self, found: Checkpoint) -> None:
        for step, path in retention.committed(self._root).items():
            if step >= found.content.step and not path.samefile(found.path):
                reason = f"resume_from went to step {found.content.step}, {found.path}"
                retention.set_aside(path, reason)
        note = {"path": str(self._path), "step": found.content.step}
        replace_text(self._note, json.dumps(note) + "\n")


def load(
    tier: Tier,
    found: Checkpoint,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
    ranks: Ranks,
    log: Callable[[str], None],
) -> rng.State | None:
    """Load a checkpoint that has been verified. Returns this rank's random state; None when the number of
    ranks differs."""
    log(f"Loading checkpoint from {found.path}")
    same_world = found.content.world == ranks.world
    into = state.capture(model, optimizer, device, ranks.rank if same_world else None)
    try:
        state_dict_loader.load(into, storage_reader=tier.reader(found), process_group=ranks.group)
    except CheckpointException as error:  # it is no Exception
        raise CheckpointError(f"{found.path}: {words(error)}") from None
    state.put_back(model, optimizer, into)
    tier.done_reading()
    log(f"Checkpoint loaded from {found.path}")
    if not same_world:
        by = counted(found.content.world, "rank")
        log(f"Saved by {by}, {ranks.world} go on: dropout is seeded anew")
    return into[state.rng_key(ranks.rank)] if same_world else None
