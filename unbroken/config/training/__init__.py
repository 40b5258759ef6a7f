"""The cluster file's ``training`` section: the job's settings, by default the Mathstral-7B job's.

The names and defaults are those of job.yaml (``training/config``), one module an area as there, so that the
two read alike; a test holds them together. What the trainer checks beyond the kinds of values it says itself,
before a GPU is touched.
"""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.config.section import Fault
from unbroken.config.training.checkpoint import CheckpointSettings
from unbroken.config.training.data import DataSettings
from unbroken.config.training.launcher import LauncherSettings
from unbroken.config.training.model import ModelSettings
from unbroken.config.training.optim import OptimSettings
from unbroken.config.training.run import RunSettings

LAUNCHER = frozenset(LauncherSettings.model_fields)
"""Settings that go into job.sbatch; all others go into job.yaml."""

__all__ = ["LAUNCHER", "TrainingConfig"]


class TrainingConfig(
    LauncherSettings, RunSettings, CheckpointSettings, OptimSettings, DataSettings, ModelSettings
):
    """One job, run on the first worker group."""

    def faults(self) -> Iterator[Fault]:
        """The rules of every area."""
        yield from LauncherSettings.faults(self)
        yield from OptimSettings.faults(self)
