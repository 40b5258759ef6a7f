"""JobConfig: the settings of all areas in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.config import checkpoint, data, model, optim, run
from training.config.problems import Problem, Rule
from training.model.presets import PRESETS


@dataclass(frozen=True, kw_only=True)
class JobConfig(
    model.ModelSettings,
    optim.OptimSettings,
    data.DataSettings,
    checkpoint.CheckpointSettings,
    run.RunSettings,
):
    """One training job. The defaults are the published Mathstral-7B job's, where those suit its weights.

    The folder the job file lies in is the job directory: run/ and checkpoints/ are made there.
    """

    def shared(self) -> dict[str, Any]:
        """What a checkpoint and the run that goes on from it must share."""
        return {name: getattr(self, name) for name in SHARED}


SHARED = (*model.SHARED, *data.SHARED, *run.SHARED)
"""Settings that may not change between a checkpoint and the run that goes on from it."""


def _context_fits_model(config: JobConfig) -> list[Problem]:
    preset = PRESETS.get(config.preset)
    if preset is None or config.context_length <= preset.shape.max_context_length:
        return []
    hint = f"use at most {preset.shape.max_context_length} with preset {config.preset}"
    return [Problem("context_length", f"{config.context_length} is longer than the model takes", hint)]


def _homes_are_known(config: JobConfig) -> list[Problem]:
    found = []
    for key, value in vars(config).items():
        if isinstance(value, str) and value.startswith("~"):
            try:
                Path(value).expanduser()
            except RuntimeError:
                hint = "write the path from / on"
                found.append(Problem(key, f"{value.split('/')[0]} is nobody's home on this machine", hint))
    return found


RULES: tuple[Rule, ...] = (
    *model.RULES,
    *optim.RULES,
    *data.RULES,
    *checkpoint.RULES,
    *run.RULES,
    _context_fits_model,
    _homes_are_known,
)
