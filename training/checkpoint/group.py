"""The ranks of a run as checkpoints need them: what one does for all, and who sees the same directory.

They have a gloo group of their own, so that a save in the background never meets training's collectives.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch.distributed as dist
from torch.distributed.checkpoint.api import CheckpointException

from training.checkpoint.manifest import CheckpointError
from training.errors import JobError, in_words

T = TypeVar("T")


class Ranks:
    """All ranks, in a group that one thread at a time may use. Making it is a collective."""

    def __init__(self, timeout: timedelta) -> None:
        self.group = dist.new_group(backend="gloo", timeout=timeout)
        self.rank, self.world = dist.get_rank(), dist.get_world_size()

    def gather(self, value: T) -> list[T]:
        """The values of all ranks, by rank."""
        parts: list[Any] = [None] * self.world
        dist.all_gather_object(parts, value, group=self.group)
        return parts

    def everywhere(self, work: Callable[[], T]) -> list[T]:
        """Do something on every rank and give all of them all results.

        Raises CheckpointError on every rank when it failed on any.
        """
        try:
            mine: tuple[T | None, str | None, bool] = (work(), None, False)
        except (JobError, OSError, ValueError) as error:
            mine = (None, in_words(error), isinstance(error, JobError) and error.final)
        answers = self.gather(mine)
        troubles = dict.fromkeys(trouble for _, trouble, _ in answers if trouble is not None)
        if troubles:
            raise CheckpointError("\n".join(troubles), final=any(final for *_, final in answers))
        return [result for result, *_ in answers]  # type: ignore[misc]  # no trouble: what work() returned

    def first(self, work: Callable[[], T]) -> T:
        """Do something on the first rank only, and give every rank the result or the error."""
        return self.everywhere(lambda: work() if self.rank == 0 else None)[0]  # type: ignore[return-value]

    def beside(self, directory: Path) -> list[int]:
        """The ranks that see what this rank writes into the directory, itself included."""
        token = directory / f".visible-{self.rank}-{secrets.token_hex(4)}"

        def leave_token() -> str:
            directory.mkdir(parents=True, exist_ok=True)
            token.touch()
            return token.name

        names = self.everywhere(leave_token)
        seen = [rank for rank, name in enumerate(names) if (directory / name).exists()]
        self.gather(None)  # every rank has looked
        token.unlink(missing_ok=True)
        return seen


def words(error: CheckpointException) -> str:
    """What went wrong on each rank, on one line."""
    return "; ".join(f"rank {rank}: {in_words(why[0])}" for rank, why in sorted(error.failures.items()))
