"""Saving and loading the state of all ranks with torch.distributed.checkpoint, committed by a manifest.

Every function here is a collective: all ranks call it. Names, hashes and retention are manifest.py's.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from training import rng
from training.checkpoint import manifest
from training.checkpoint.manifest import CheckpointError, Manifest

T = TypeVar("T")


@dataclass(frozen=True)
class Position:
    """How far a run has come: steps finished, tokens trained on, samples used up."""

    step: int = 0
    tokens: int = 0
    samples: int = 0


@dataclass(frozen=True)
class Loaded:
    """What came out of a checkpoint besides the weights; `rng` is None when the number of ranks differs."""

    path: Path
    position: Position
    rng: dict[str, torch.Tensor] | None


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoint directory of one run, as seen by all its ranks."""

    root: Path
    digest: str
    keep: int
    log: Callable[[str], None]

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, position: Position, device: torch.device
    ) -> Path:
        """Write, check in and prune; returns the path of the checkpoint, which exists from then on."""
        aside = _from_first(lambda: manifest.start_writing(self.root, position.step))
        state_dict_saver.save(_state(model, optimizer, device), checkpoint_id=aside)
        return _from_first(self._committer(aside, position, _all_files(_own_entries(aside))))

    def _committer(
        self, aside: Path, position: Position, files: dict[str, manifest.FileEntry]
    ) -> Callable[[], Path]:
        def commit() -> Path:
            content = Manifest(
                step=position.step,
                tokens=position.tokens,
                samples=position.samples,
                world=dist.get_world_size(),
                config_digest=self.digest,
                files=files,
                versions={"torch": str(torch.__version__), "python": platform.python_version()},
            )
            path = manifest.commit(aside, content)
            manifest.prune(self.root, self.keep)
            return path

        return commit

    def load_newest(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device
    ) -> Loaded | None:
        """Load the newest checkpoint that verifies; None when there never was one.

        Bad ones are set aside. Raises CheckpointError when there were checkpoints and all are bad, or when
        the newest good one was made with other settings.
        """
        _from_first(lambda: manifest.remove_unfinished(self.root))
        while candidate := _from_first(self._newest):
            path, content = candidate
            if reasons := _faults(path, content):
                _from_first(functools.partial(self._set_aside, path, "; ".join(reasons)))
                continue
            self._check_settings(path, content)
            return self._load(path, content, model, optimizer, device)
        if _from_first(lambda: manifest.any_set_aside(self.root)):
            raise CheckpointError(
                f"{self.root}: every checkpoint is bad; the reasons are in set-aside/\n"
                "  hint: put a good checkpoint back, or remove set-aside/ to train from the start"
            )
        return None

    def _newest(self) -> tuple[Path, Manifest] | None:
        for path in manifest.committed(self.root):
            try:
                return path, manifest.read(path)
            except ValueError as error:
                self._set_aside(path, str(error))
        return None

    def _set_aside(self, path: Path, reason: str) -> None:
        target = manifest.set_aside(path, reason)
        self.log(f"Checkpoint {path} is bad ({reason}); set aside as {target}")

    def _check_settings(self, path: Path, content: Manifest) -> None:
        if content.config_digest != self.digest:
            raise CheckpointError(
                f"{path}: made with another preset, context_length, dataset or seed than this job's\n"
                "  hint: restore those settings, or use another directory"
            )

    def _load(
        self,
        path: Path,
        content: Manifest,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        device: torch.device,
    ) -> Loaded:
        self.log(f"Loading checkpoint from {path}")
        same_world = content.world == dist.get_world_size()
        state = _state(model, optimizer, device, with_rng=same_world)
        state_dict_loader.load(state, checkpoint_id=path)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        self.log(f"Checkpoint loaded from {path}")
        if not same_world:
            self.log(
                f"{content.world} ranks saved it and {dist.get_world_size()} go on: dropout is seeded anew"
            )
        position = Position(content.step, content.tokens, content.samples)
        return Loaded(path, position, state[_rng_key()] if same_world else None)


def _state(
    model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device, *, with_rng: bool = True
) -> dict[str, Any]:
    weights, moments = get_state_dict(model, optimizer)
    state: dict[str, Any] = {"model": weights, "optimizer": moments}
    if with_rng:
        state[_rng_key()] = rng.capture(device)
    return state


def _rng_key() -> str:
    # a key of its own for each rank: the library keeps one copy of what several ranks save under one name
    return f"rng_{dist.get_rank()}"


def _own_entries(directory: Path) -> dict[str, manifest.FileEntry]:
    """Each rank hashes what it wrote itself; the first also what belongs to all."""
    rank = dist.get_rank()
    mine = [p for p in directory.iterdir() if p.name.startswith(f"__{rank}_")]
    if rank == 0:
        mine.append(directory / ".metadata")
    return {path.name: manifest.entry(path) for path in mine}


def _all_files(mine: dict[str, manifest.FileEntry]) -> dict[str, manifest.FileEntry]:
    return {name: found for part in _gather(mine) for name, found in part.items()}


def _faults(path: Path, content: Manifest) -> list[str]:
    """Faults of the whole checkpoint; the files are shared out over the ranks, since hashing takes time."""
    names = sorted(content.files)[dist.get_rank() :: dist.get_world_size()]
    return [fault for part in _gather(manifest.faults(path, content, names)) for fault in part]


def _gather(value: T) -> list[T]:
    parts: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(parts, value)
    return parts


def _from_first(work: Callable[[], T]) -> T:
    """Do something on the first rank only, and give every rank the result or the error."""
    box: list[Any] = [None]
    if dist.get_rank() == 0:
        try:
            box[0] = (work(), None)
        except (OSError, ValueError) as error:
            box[0] = (None, f"{type(error).__name__}: {error}")
    dist.broadcast_object_list(box)
    result, trouble = box[0]
    if trouble is not None:
        raise CheckpointError(trouble)
    return result  # type: ignore[no-any-return]  # what work() returned
