"""The job: job.sbatch from the trainer's own template, and job.yaml, from the cluster file.

An overlay is what the rehearsal changes about a job (one CPU rank a node and the tiny preset in place of
eight GPUs and seven billion parameters). Nothing else may differ, and it can list its own changes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from unbroken.catalog import instance_types
from unbroken.config import ClusterConfig, TrainingConfig
from unbroken.config.training import LAUNCHER
from unbroken.render.errors import RenderError
from unbroken.render.templates_env import environment

TEMPLATE = "job.sbatch.j2"
# How long before the job's time limit its ranks are told to save and leave.
WARNING_SECONDS = 180
_LAUNCH = Path(__file__).resolve().parents[2] / "training" / "launch"
# Settings of the sbatch file; all others belong to the trainer and go into job.yaml.
_LAUNCHER_KEYS = LAUNCHER | {"gpus_per_node"}
# What belongs to a model, to what the internet has, or to packages and hardware that a rehearsed node lacks:
# with another preset each is as if the cluster file had not named it.
_LEFT_OUT = (
    "weights_revision model_type vocab_size hidden_size intermediate_size num_hidden_layers "
    "num_attention_heads num_key_value_heads rope_theta rotary_fraction dataset_config dataset_revision "
    "dataset_split text_column resume_from sharding shard_group_size compile local_directory "
    "prometheus_directory tensorboard_directory mlflow_tracking_uri container_image container_mounts "
    "hub_token_file"
).split()


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """The rehearsal's changes to a job, by the names of the cluster file's `training` section.

    None leaves the cluster file's value as it is.
    """

    gpus_per_node: int | None = None
    """Ranks on a node."""
    python: str | None = None
    """Interpreter, absolute path."""
    device: str | None = None
    """cpu, cuda or auto."""
    preset: str | None = None
    num_steps: int | None = None
    checkpoint_every: int | None = None
    """Steps between two checkpoints."""
    context_length: int | None = None
    """Tokens in one sample."""
    weights: str | None = None
    dataset: str | None = None
    tokenizer: str | None = None

    def values(self) -> dict[str, object]:
        """Return the settings that this overlay sets; with a preset also those that belong to another one."""
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        given = {name: value for name, value in pairs if value is not None}
        return ({} if self.preset is None else _defaults(_LEFT_OUT)) | given

    def changes(self, config: ClusterConfig) -> list[tuple[str, object, object]]:
        """Return (setting, value in the cluster file, value in the rehearsal) for all that differ."""
        before = _settings(config)
        return [(k, before[k], v) for k, v in self.values().items() if before[k] != v]


def job(config: ClusterConfig, overlay: Overlay | None) -> dict[str, str]:
    """Return the texts of job.sbatch and job.yaml. Raises RenderError outside a checkout."""
    settings = _settings(config) | (overlay.values() if overlay else {})
    given = {name: value for name, value in settings.items() if name not in _LAUNCHER_KEYS}
    trainer = {name: value for name, value in given.items() if value is not None}  # null is the default
    if not (_LAUNCH / TEMPLATE).is_file():
        raise RenderError(f"{_LAUNCH / TEMPLATE} is missing", "run this from a checkout of the project")
    return {
        "job.sbatch": environment(_LAUNCH).get_template(TEMPLATE).render(job=_launcher(config, settings)),
        "job.yaml": yaml.safe_dump(trainer, sort_keys=False),
    }


def job_directory(config: ClusterConfig) -> str:
    """Return where the job's files lie on the shared file system."""
    return f"{config.storage.mount_path}/{config.user.name}/jobs/{config.training.preset}"


def _settings(config: ClusterConfig) -> dict[str, object]:
    """Return the settings of trainer and launcher before any overlay; the job runs on the first group."""
    gpus = _instance(config).gpus or 1
    launcher = {"gpus_per_node": gpus, "device": "auto"}
    return launcher | config.training.model_dump(mode="json")


def _defaults(names: list[str]) -> dict[str, object]:
    return {name: TrainingConfig.model_fields[name].get_default(call_default_factory=True) for name in names}


def _launcher(config: ClusterConfig, settings: dict[str, Any]) -> dict[str, object]:
    """Return the variables that the template lists."""
    group = config.worker_groups[0]
    token = {"HF_TOKEN_PATH": settings["hub_token_file"]} if settings["hub_token_file"] else {}
    return {
        "name": config.training.preset,
        "partition": group.partition,
        "num_nodes": group.num_instances,
        "gpus_per_node": settings["gpus_per_node"],
        "directory": job_directory(config),
        "code_directory": f"{config.storage.mount_path}/unbroken/current",
        "python": settings["python"],
        "warning_seconds": WARNING_SECONDS,
        "options": _options(config.slurm.auto_resume, settings),
        "environment": _environment(_instance(config)) | token,
    }


def _options(auto_resume: bool, settings: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return what the supervisor is told beyond the job file and the ranks."""
    options: list[tuple[str, str | None]] = [] if auto_resume else [("--no-auto-resume", None)]
    if settings["container_image"]:
        options += [("--container-image", settings["container_image"])]
        options += [("--container-python", settings["container_python"])]
        options += [("--container-mount", mount) for mount in settings["container_mounts"]]
    return options + ([("--stop-on-sockets", None)] if settings["efa_fallback"] == "stop" else [])


def _environment(instance: instance_types.InstanceType) -> dict[str, str]:
    """Return what every rank's network libraries are told, by instance type."""
    names: dict[str, str] = {}
    if instance.efa_interfaces:
        names |= {"FI_PROVIDER": "efa", "FI_LOG_LEVEL": "1"}
    if instance.efa_rdma:
        names["FI_EFA_USE_DEVICE_RDMA"] = "1"  # libfabric aborts where the device has no RDMA
    if instance.gpus:
        names |= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}  # which network, and no more
    return names


def _instance(config: ClusterConfig) -> instance_types.InstanceType:
    return instance_types.get(config.worker_groups[0].instance_type)
