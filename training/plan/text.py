"""A plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from training.config import JobConfig
from training.plan.machine import GIB, Machine
from training.plan.outline import Plan
from training.words import counted


def text(plan: Plan, config: JobConfig, machine: Machine, *, assumed: bool = False) -> str:
    """The whole plan, one aligned line a fact. `assumed`: nobody named the GPU."""
    lines = [f"{name:<28}{value}" for name, value in _facts(plan, config, machine, assumed)]
    return "\n".join(lines + [f"does not fit: {problem}" for problem in plan.problems]) + "\n"


def _facts(plan: Plan, config: JobConfig, machine: Machine, assumed: bool) -> Iterator[tuple[str, str]]:
    yield "parameters", f"{plan.parameters:,} ({_short(plan.parameters)})"
    whole = plan.parameters
    yield "fp32 weights", f"{_gib(4 * whole)}; with gradients and moments {_gib(16 * whole)}"
    if config.preset == "mathstral-7b":
        yield "", "(published as 26 and 107: those of 7.2 billion parameters, cut off)"
    yield (
        "GPUs",
        f"{machine.gpus:,} of {machine.gpu}" + (" (assumed; --gpu names another)" if assumed else ""),
    )
    yield from _memory(plan, config, machine)
    yield "tokens a step", f"{plan.tokens_per_step:,}"
    yield "tokens in all", f"{plan.tokens:,} in {counted(config.num_steps, 'step')}"
    yield from _checkpoints(plan, machine)
    yield "duration", f"{_time(plan.seconds)} at {machine.utilisation:.0%} of peak (stated, not predicted)"
    yield "", f"{plan.tokens_per_second_and_gpu:,.0f} tokens/s and GPU; without stops, saves and start-up"
    if plan.seconds_least < plan.seconds:
        yield "", f"with documents that fill the context; with the shortest ones {_time(plan.seconds_least)}"
        yield "", "(--document-length states how long they are)"
    if plan.cost is not None:
        yield (
            "cost",
            f"${plan.cost:,.0f} for {counted(machine.gpus, 'GPU')} at ${machine.price:,.2f} an hour each",
        )


def _memory(plan: Plan, config: JobConfig, machine: Machine) -> Iterator[tuple[str, str]]:
    memory = plan.memory
    yield "memory of each GPU", f"{_gib(memory.gpu)} of {_gib(machine.usable)} (estimated)"
    where = " (in host memory)" if memory.on_host else f", split over {machine.shards}"
    yield "  weights", _gib(memory.weights) + where
    yield "  gradients", _gib(memory.gradients)
    yield "  optimizer", _gib(memory.optimizer)
    yield "  gathered for a while", _gib(memory.gathered)
    yield "  activations", f"{_gib(memory.activations)} ({_activation_words(config)})"
    yield "  logits", _gib(memory.logits)


def _activation_words(config: JobConfig) -> str:
    kind = config.activation_checkpointing
    words = {False: "all kept", "selective": "products kept"}.get(kind, "layers computed again")
    return words + (", offloaded" if config.activation_offloading else "")


def _checkpoints(plan: Plan, machine: Machine) -> Iterator[tuple[str, str]]:
    fit = plan.checkpoints_that_fit
    yield "checkpoint", f"{_bytes(plan.checkpoint)}; {fit:,} {_fit(fit)} {machine.file_system_gib:,} GiB"
    if plan.checkpoints_written:
        total = _bytes(plan.checkpoints_written * plan.checkpoint)
        yield "", f"{plan.checkpoints_written:,} written in all ({total})"
    most = f"at most {plan.checkpoints_at_once:,} at once"
    yield "", f"{most}: those kept, the one started from, one being written"


def _fit(count: int) -> str:
    return "fits" if count == 1 else "fit"


def _short(count: int) -> str:
    return f"{count / 1e9:.2f} B" if count >= 1e8 else f"{count / 1e6:.2f} M"


def _gib(count: int) -> str:
    if count >= GIB / 10:
        return f"{count / GIB:.1f} GiB"
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 / 10 else f"{count / 2**10:.1f} KiB"


def _bytes(count: int) -> str:
    if count >= 1e12:
        return f"{count / 1e12:.1f} TB"
    return f"{count / 1e9:.0f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} seconds"
    if seconds < 3600:
        return f"{seconds / 60:.1f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
