"""Settings of checkpoints: how often, how many, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from training.config.kinds import Count, Positive, Whole
from training.config.problems import Problem, Rule


@dataclass(frozen=True, kw_only=True)
class CheckpointSettings:
    """When checkpoints are written, which are kept, and where."""

    checkpoint_every: Count | Literal["auto"] = 50
    """Steps between two checkpoints; `auto` reckons them from what a save costs and how often nodes fail."""
    failures_per_node_hour: Positive = 1.6e-4
    """Assumed by `auto`. 419 failures of 2,048 nodes in 54 days (Llama 3, arXiv 2407.21783) are 1.6e-4."""
    keep_checkpoints: int = 2
    """Newest checkpoints kept; the last one may be damaged, so at least 2."""
    keep_every: Whole = 0
    """Steps; the first checkpoint in every so many is kept for good. 0 keeps none of these."""
    checkpoint_directory: str = "checkpoints"
    """Seen by all ranks; relative to the job directory."""
    resume_from: str | None = None
    """A checkpoint, or a directory of checkpoints, to start from; once started the run's own are used."""
    local_directory: str | None = None
    """On each node's own disk: checkpoints are written there first and copied in the background."""
    keep_local_checkpoints: int = 2
    """Newest checkpoints kept on the nodes' disks, at least 2."""
    local_copy_mb_per_s: Positive | None = None
    """Limit of each rank's copying from the node's disk, in 10^6 bytes a second."""


def _two_are_kept(settings: CheckpointSettings) -> list[Problem]:
    hint = "use 2 or more: the newest may be damaged by the fault that ended the run"
    given = {
        "keep_checkpoints": settings.keep_checkpoints,
        "keep_local_checkpoints": settings.keep_local_checkpoints,
    }
    return [Problem(name, f"{value} is too few", hint) for name, value in given.items() if value < 2]


def _local_is_absolute(settings: CheckpointSettings) -> list[Problem]:
    if settings.local_directory is None or settings.local_directory.startswith("/"):
        return []
    hint = "give an absolute path on the node's own disk, such as /opt/dlami/nvme/checkpoints"
    return [Problem("local_directory", f"{settings.local_directory!r} is relative", hint)]


RULES: tuple[Rule, ...] = (_two_are_kept, _local_is_absolute)
