"""The cluster file's ``tiered_storage`` section: memory of the nodes as a tier for checkpoints."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from unbroken.config.section import Section


class TieredStorageConfig(Section):
    """HyperPod's managed tiered checkpointing. AWS's guide describes it for EKS; for Slurm: untried."""

    memory_percent: Annotated[int, Field(ge=1, le=100)] = 20
    """Part of each node's memory given to it."""
