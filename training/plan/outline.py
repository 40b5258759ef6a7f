"""The plan of a job on so many GPUs: sizes, time, cost, and what cannot work. No torch here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from training.compute import Device, flops_per_token
from training.config import JobConfig
from training.model.presets import Shape
from training.plan.memory import Memory, estimate

GIB = 2**30
CHECKPOINT_BYTES = 12
"""Bytes of a parameter in a checkpoint: fp32 weights and both of AdamW's moments."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the job is to run on. Prices in USD for a GPU and hour."""

    gpus: int
    device: Device
    shards: int
    """GPUs that share one copy of the parameters."""
    reserve_gib: float
    """Of a GPU's memory, for CUDA, NCCL and fragmentation: an assumption, not a measurement."""
    file_system_gib: int
    utilisation: float
    """Part of the device's peak rate that training reaches: stated by whoever asks, not predicted."""
    price: float | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What comes out; bytes, seconds and USD. `problems` says what makes the job impossible."""

    parameters: int
    memory: Memory
    tokens_per_step: int
    tokens: int
    checkpoint: int
    checkpoints_that_fit: int
    checkpoints_written: int
    tokens_per_second_and_gpu: float
    seconds: float
    cost: float | None
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {**asdict(self), "memory": {**asdict(self.memory), "gpu": self.memory.gpu}}


def plan(shape: Shape, config: JobConfig, machine: Machine) -> Plan:
    """Work out a plan. Epochs are not counted: how much text there is, is not known here."""
    per_gpu = config.train_batch_size * config.gradient_accumulation * config.context_length
    per_step = per_gpu * machine.gpus
    rate = machine.utilisation * machine.device.peak_flops / flops_per_token(shape, config.context_length)
    seconds = config.num_steps * per_gpu / rate
    memory = estimate(shape, config, machine.shards)
    checkpoint = CHECKPOINT_BYTES * shape.num_parameters
    fit = machine.file_system_gib * GIB // checkpoint
    return Plan(
        parameters=shape.num_parameters,
        memory=memory,
        tokens_per_step=per_step,
        tokens=per_step * config.num_steps,
        checkpoint=checkpoint,
        checkpoints_that_fit=fit,
        checkpoints_written=_checkpoints_written(config),
        tokens_per_second_and_gpu=rate,
        seconds=seconds,
        cost=None if machine.price is None else machine.price * machine.gpus * seconds / 3600,
        problems=tuple(_problems(memory, config, machine, fit)),
    )


def _checkpoints_written(config: JobConfig) -> int:
    every = config.checkpoint_every
    return -(-config.num_steps // every) if isinstance(every, int) else 0


def _problems(memory: Memory, config: JobConfig, machine: Machine, fit: int) -> list[str]:
    found = []
    usable = machine.device.memory_gib - machine.reserve_gib
    if memory.gpu > usable * GIB:
        found.append(
            f"a GPU needs {memory.gpu / GIB:.1f} GiB and has {usable:.1f} besides the reserve: more GPUs, "
            "activation_checkpointing: true, cpu_offload: true, or a shorter context_length"
        )
    if fit < config.keep_checkpoints + 1:
        found.append(
            f"{fit} checkpoints fit {machine.file_system_gib} GiB; {config.keep_checkpoints} are kept and "
            "one is written: a larger file system"
        )
    return found
