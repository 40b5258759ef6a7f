"""Why a job cannot run as it is, and what would let it: each way out is reckoned before it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from training.checkpoint.size import needed_for
from training.config import JobConfig
from training.model.presets import Shape
from training.plan.machine import GIB, Machine
from training.plan.memory import estimate

_MOST_GPUS = 4096
_SHORTEST_CONTEXT = 1024
Way = tuple[JobConfig, int]
"""Settings, and the GPUs that share one copy of the parameters."""


def of_memory(shape: Shape, config: JobConfig, machine: Machine) -> Iterator[str]:
    """Whether the job fits a GPU's memory."""

    def fits(way: Way) -> bool:
        return estimate(shape, *way).gpu <= machine.usable

    now = (config, machine.shards)
    if fits(now):
        return
    ways = [words for words, way in _settings(config, machine) if fits(way)]
    ways += [words for words, way in _more_gpus(config, machine) if fits(way)][:1]
    together = (_words(config, job) for job in _together(config) if fits((job, machine.shards)))
    way_out = " or with ".join(ways) or next(together, "")
    needed, usable = estimate(shape, *now).gpu / GIB, machine.usable / GIB
    yield f"a GPU needs {needed:.1f} GiB and has {usable:.1f} besides the reserve; " + (
        f"it fits with {way_out}" if way_out else "no setting helps: take a GPU with more memory"
    )


def of_space(checkpoint: int, at_once: int, machine: Machine) -> Iterator[str]:
    """Whether the checkpoints that are there at once fit the file system."""
    needed = -(-needed_for(at_once, checkpoint) // GIB)
    if needed > machine.file_system_gib:
        yield (
            f"{at_once} checkpoints are there at once and need {needed:,} GiB, of which there are "
            f"{machine.file_system_gib:,}; they fit with a file system of {needed:,} GiB"
        )


def _settings(config: JobConfig, machine: Machine) -> Iterator[tuple[str, Way]]:
    """Settings that leave the samples of a step as they are, one at a time."""
    for job in (
        replace(config, activation_checkpointing=True),
        replace(config, activation_offloading=True),
        replace(config, cpu_offload=True),
    ):
        yield _words(config, job), (job, machine.shards)
    if config.sharding == "hybrid":
        yield "sharding=full", (replace(config, sharding="full", shard_group_size=None), machine.gpus)


def _more_gpus(config: JobConfig, machine: Machine) -> Iterator[tuple[str, Way]]:
    """With hybrid sharding more of them change nothing."""
    gpus = machine.gpus
    while config.sharding == "full" and (gpus := 2 * gpus) <= _MOST_GPUS:
        yield f"{gpus} GPUs", (config, gpus)


def _together(config: JobConfig) -> Iterator[JobConfig]:
    """Changes on top of each other, those that cost the least first."""
    job = replace(config, activation_checkpointing=True, activation_offloading=True)
    yield job
    while job.train_batch_size > 1:
        job = replace(job, train_batch_size=job.train_batch_size // 2)
        yield job
    job = replace(job, cpu_offload=True)
    yield job
    while job.context_length > _SHORTEST_CONTEXT:
        job = replace(job, context_length=job.context_length // 2)
        yield job


def _words(config: JobConfig, changed: JobConfig) -> str:
    new = {name: value for name, value in vars(changed).items() if value != getattr(config, name)}
    return " ".join(f"{name}={value}".replace("True", "true") for name, value in new.items())
