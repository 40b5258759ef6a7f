"""Which checkpoints stay and how the others go, and putting bad ones aside. No torch here.

Whatever goes is renamed first: a directory half removed must not be taken for a checkpoint that was damaged.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from training.config.checkpoint import CheckpointSettings
from training.files import replace_text

_COMMITTED = re.compile(r"step-(\d{8,})")
UNFINISHED = ".writing-"
_LEAVING = ".removing-"
_VIEW = ".view-"
_SET_ASIDE = "set-aside"


@dataclass(frozen=True)
class Kept:
    """What stays: the newest few, the first one in every so many steps (0: no others), and those in use."""

    newest: int
    every: int = 0
    in_use: int = 1
    """Others that are spared at most: the one an attempt started from, one that is being copied."""

    def __post_init__(self) -> None:
        if self.newest < 2:
            raise ValueError("keep must be 2 or more: the newest checkpoint may be damaged")

    def among(self, steps: Collection[int]) -> set[int]:
        """The steps to keep of those there are."""
        keep = set(sorted(steps)[-self.newest :])
        if self.every:
            blocks: dict[int, int] = {}
            for step in sorted(steps):
                blocks.setdefault(step // self.every, step)
            keep |= {step for block, step in blocks.items() if block > 0}
        return keep

    def at_once(self, last_step: int) -> int:
        """How many there are at once at most, up to a step, with the one that is being written."""
        for_good = last_step // self.every if self.every else 0
        return self.newest + for_good + self.in_use + 1


def shared(config: CheckpointSettings) -> Kept:
    """What stays in the checkpoint directory. An interval of `keep_every` holds one save at least."""
    between = 0 if isinstance(config.checkpoint_every, str) else config.checkpoint_every
    return Kept(config.keep_checkpoints, config.keep_every and max(config.keep_every, between))


def local(config: CheckpointSettings) -> Kept:
    """What stays on a node's disk, from where one may be being copied."""
    return Kept(config.keep_local_checkpoints, in_use=2)


def directory_name(step: int) -> str:
    """Name of a committed checkpoint."""
    return f"step-{step:08d}"


def committed(root: Path) -> dict[int, Path]:
    """Checkpoints in a directory by step, newest first; whatever else lies there is left out.

    The step counts, not how wide it is written, and no time of a file.
    """
    if not root.is_dir():
        return {}
    found = [(match, path) for path in root.iterdir() if (match := _COMMITTED.fullmatch(path.name))]
    steps = {int(match[1]): path for match, path in found if path.is_dir() and not path.is_symlink()}
    return dict(sorted(steps.items(), reverse=True))


def prune(root: Path, kept: Kept, spared: Collection[int] = ()) -> list[str]:
    """Remove what need not stay; returns what could not be removed, with the reason.

    Trouble with an old checkpoint is not a reason to stop training.
    """
    troubles = []
    there = committed(root)
    keep = kept.among(there) | set(spared)
    for path in (path for step, path in there.items() if step not in keep):
        try:
            remove(path)
        except OSError as error:
            troubles.append(f"{path.name} cannot be removed: {error}")
    return troubles


def remove(directory: Path) -> None:
    """Remove a checkpoint."""
    shutil.rmtree(take_away(directory))


def take_away(directory: Path) -> Path:
    """Rename a checkpoint to what is no checkpoint any more."""
    leaving = directory.with_name(_LEAVING + directory.name)
    shutil.rmtree(leaving, ignore_errors=True)
    directory.rename(leaving)
    return leaving


def remove_unfinished(root: Path) -> None:
    """Remove what killed saves, loads and prunings left."""
    for path in root.glob(".*"):
        if path.name.startswith((UNFINISHED, _LEAVING, _VIEW)):
            shutil.rmtree(path, ignore_errors=True)


def view(root: Path, rank: int) -> Path:
    """An empty directory in which a rank puts together what it loads."""
    path = root / f"{_VIEW}{rank}"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def set_aside(directory: Path, reason: str) -> Path:
    """Move a bad checkpoint out of the way, with the reason beside it, so that it is never tried again."""
    folder = directory.parent / _SET_ASIDE
    folder.mkdir(exist_ok=True)
    target, again = folder / directory.name, itertools.count(2)
    while target.exists():  # the same step was done again, and what is there may still be wanted
        target = folder / f"{directory.name}.{next(again)}"
    directory.rename(target)
    replace_text(folder / f"{target.name}.reason.txt", reason + "\n")
    return target


def any_set_aside(root: Path) -> bool:
    """Whether a bad checkpoint was found here before."""
    return any((root / _SET_ASIDE).glob("step-*"))
