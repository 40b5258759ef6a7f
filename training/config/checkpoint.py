"""Settings of checkpoints: how often, how many."""

from __future__ import annotations

from dataclasses import dataclass

from training.config.kinds import Count
from training.config.problems import Problem, Rule


@dataclass(frozen=True, kw_only=True)
class CheckpointSettings:
    """When checkpoints are written and which are kept."""

    checkpoint_every: Count = 50
    """Steps between two checkpoints."""
    keep_checkpoints: int = 2
    """Checkpoints kept; the last one may be damaged, so at least 2."""


def _two_are_kept(settings: CheckpointSettings) -> list[Problem]:
    if settings.keep_checkpoints >= 2:
        return []
    hint = "use 2 or more: the newest may be damaged by the fault that ended the run"
    return [Problem("keep_checkpoints", f"{settings.keep_checkpoints} is too few", hint)]


RULES: tuple[Rule, ...] = (_two_are_kept,)
