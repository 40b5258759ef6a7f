"""The plan of a job on so many GPUs: sizes, time, cost, and what cannot work. No torch here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from training.checkpoint import retention
from training.checkpoint.size import needed_for
from training.compute import flops_per_token
from training.config import JobConfig
from training.model.presets import Shape
from training.plan import problems
from training.plan.machine import GIB, Machine
from training.plan.memory import Memory, estimate

CHECKPOINT_BYTES = 12
"""Bytes of a parameter in a checkpoint: fp32 weights and both of AdamW's moments."""


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
    checkpoints_at_once: int
    """Most that are on the file system at one time, with the one an attempt started from."""
    tokens_per_second_and_gpu: float
    """With documents that fill the context, or of the stated length, as in `seconds` and `cost`."""
    seconds: float
    seconds_least: float
    """With documents so short that attention costs nothing, where their length is not stated."""
    cost: float | None
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {**asdict(self), "memory": {**asdict(self.memory), "gpu": self.memory.gpu}}


def plan(shape: Shape, config: JobConfig, machine: Machine, document_length: int | None = None) -> Plan:
    """Work out a plan. Epochs are not counted: how much text there is, is not known here."""
    per_gpu = config.train_batch_size * config.gradient_accumulation * config.context_length
    per_step = per_gpu * machine.gpus
    shortest, longest = _document_lengths(config, document_length)
    done_per_second = machine.utilisation * machine.device.peak_flops
    rate, highest = (done_per_second / flops_per_token(shape, length) for length in (longest, shortest))
    seconds = config.num_steps * per_gpu / rate
    memory = estimate(shape, config, machine.shards)
    checkpoint = CHECKPOINT_BYTES * shape.num_parameters
    fit = machine.file_system_gib * GIB // needed_for(1, checkpoint)
    at_once = retention.shared(config).at_once(config.num_steps)
    return Plan(
        parameters=shape.num_parameters,
        memory=memory,
        tokens_per_step=per_step,
        tokens=per_step * config.num_steps,
        checkpoint=checkpoint,
        checkpoints_that_fit=fit,
        checkpoints_written=_checkpoints_written(config),
        checkpoints_at_once=at_once,
        tokens_per_second_and_gpu=rate,
        seconds=seconds,
        seconds_least=config.num_steps * per_gpu / highest,
        cost=None if machine.price is None else machine.price * machine.gpus * seconds / 3600,
        problems=(
            *problems.of_memory(shape, config, machine),
            *problems.of_space(checkpoint, at_once, machine),
        ),
    )


def _document_lengths(config: JobConfig, stated: int | None) -> tuple[int, int]:
    """The shortest and the longest that documents may be, by which attention is counted."""
    if not config.document_masking:
        return config.context_length, config.context_length
    if stated is not None:
        return min(stated, config.context_length), min(stated, config.context_length)
    return 0, config.context_length


def _checkpoints_written(config: JobConfig) -> int:
    every = config.checkpoint_every
    return -(-config.num_steps // every) if isinstance(every, int) else 0
