"""The job's settings of checkpoints: where, how often, how many."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from unbroken.config.section import Section
from unbroken.config.training.kinds import AtLeastTwo, Count, Positive, Whole, steps_or_auto


class CheckpointSettings(Section):
    """Where checkpoints lie, and which are kept."""

    checkpoint_every: Annotated[Count | Literal["auto"], BeforeValidator(steps_or_auto)] = 50
    """Steps between two checkpoints; ``auto`` reckons them from what a save costs and how often
    nodes fail."""
    failures_per_node_hour: Positive = 1.6e-4
    """Assumed by ``auto``. 419 failures of 2,048 nodes in 54 days (Llama 3, arXiv 2407.21783) are 1.6e-4."""
    keep_checkpoints: AtLeastTwo = 2
    """Newest checkpoints kept; the last one may be damaged, so at least 2."""
    keep_every: Whole = 0
    """Steps; the first checkpoint in every so many is kept for good. 0 keeps none of these."""
    checkpoint_directory: str = "checkpoints"
    """Seen by all ranks; relative to the job directory."""
    resume_from: str | None = None
    """A checkpoint, or a directory of checkpoints, to start from; once started the run's own are used."""
    local_directory: str | None = None
    """On each node's own disk: checkpoints are written there first and copied in the background."""
    keep_local_checkpoints: AtLeastTwo = 2
    """Newest checkpoints kept on the nodes' disks, at least 2."""
    local_copy_mb_per_s: Positive | None = None
    """Limit of each rank's copying from the node's disk, in 10^6 bytes a second."""

    def checkpoints_at_once(self, num_steps: int) -> int:
        """Most that are on the file system at one time: those kept, the one that an attempt started from and
        the one being written. A test holds this and training/checkpoint/retention.py together."""
        between = 0 if isinstance(self.checkpoint_every, str) else self.checkpoint_every
        for_good = num_steps // max(self.keep_every, between) if self.keep_every else 0
        return self.keep_checkpoints + for_good + 2
