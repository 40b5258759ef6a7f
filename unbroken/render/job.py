"""The job: job.sbatch from the trainer's own template, and job.yaml, from the cluster file.

An overlay is what the rehearsal changes about a job (one CPU rank a node and the tiny preset in place of
eight GPUs and seven billion parameters), and nothing else may differ: it can list its own changes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from unbroken.catalog import instance_types
from unbroken.config import ClusterConfig
from unbroken.render.errors import RenderError
from unbroken.render.templates_env import environment

_LAUNCH = Path(__file__).resolve().parents[2] / "training" / "launch"
TEMPLATE = "job.sbatch.j2"
# What the sbatch file decides; the trainer's own settings are the rest.
_LAUNCHER_KEYS = frozenset({"gpus_per_node", "python"})


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """The rehearsal's changes to a job. None leaves the cluster file's value as it is."""

    gpus_per_node: int | None = None
    preset: str | None = None
    num_steps: int | None = None
    checkpoint_every: int | None = None
    python: str | None = None
    device: str | None = None

    def values(self) -> dict[str, object]:
        """Return the settings that this overlay sets."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in pairs if value is not None}

    def changes(self, config: ClusterConfig) -> list[tuple[str, object, object]]:
        """Return (setting, value in the cluster file, value in the rehearsal) for all that differ."""
        before = _settings(config)
        return [(k, before.get(k), v) for k, v in self.values().items() if before.get(k) != v]


def job(config: ClusterConfig, overlay: Overlay | None) -> dict[str, str]:
    """Return the text of job.sbatch and job.yaml. Raises RenderError without the checkout's template."""
    settings = _settings(config) | (overlay.values() if overlay else {})
    trainer = {k: v for k, v in settings.items() if k not in _LAUNCHER_KEYS}
    if not (_LAUNCH / TEMPLATE).is_file():
        raise RenderError(f"{_LAUNCH / TEMPLATE} is missing", "run this from a checkout of the project")
    template = environment(_LAUNCH).get_template(TEMPLATE)
    return {
        "job.sbatch": template.render(**_launcher(config, settings)),
        "job.yaml": yaml.safe_dump(trainer, sort_keys=False),
    }


def _settings(config: ClusterConfig) -> dict[str, object]:
    """Return the trainer's settings with those of the launcher, before any overlay."""
    settings: dict[str, object] = config.training.model_dump(mode="json")
    group = config.worker_groups[0]
    return settings | {"gpus_per_node": instance_types.get(group.instance_type).gpus, "device": "cuda"}


def _launcher(config: ClusterConfig, settings: dict[str, object]) -> dict[str, Any]:
    """Return what the template may use."""
    group = config.worker_groups[0]
    return {
        "cluster_name": config.name,
        "partition": group.partition,
        "num_nodes": group.num_instances,
        "instance": instance_types.get(group.instance_type),
        "mount_path": config.storage.mount_path,
        "user": config.user.name,
        **settings,
    }
