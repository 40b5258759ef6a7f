"""``python -m benchmarks.gpu``: what one GPU does with the trainer's model: tokens a second, MFU, memory.

The published shape with fewer layers, since optimizer and gradients of all do not fit one GPU; contexts of
4,096 and 32,768 tokens, with and without torch.compile. Memory is set beside what ``training.plan`` says.

This has not been run on a GPU yet: no figure of it is known. ``--device cpu --preset tiny`` runs the same
code where there is none, to see that it works; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from benchmarks.figures import Figure
from training.compute import device_named, flops_per_token
from training.config import JobConfig, parse
from training.model.build import build
from training.model.presets import PRESETS, SCRATCH
from training.model.shape import choose
from training.model.shard import make_mesh, parameter_device, shard
from training.model.values import allocate, initialise
from training.optim import adamw
from training.plan.memory import estimate


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One way to run. Seconds are the median of a step; `mfu` is None for a GPU whose peak is not listed."""

    context_length: int
    compiled: bool
    seconds: float
    tokens_per_second: float
    mfu: float | None
    peak_gib: float
    planned_gib: float


def measure(config: JobConfig, device: torch.device, steps: int) -> Measured:
    """Train `steps` steps on random tokens, after two that warm up, and time them."""
    shape = choose(config, Path()).shape
    model = build(shape)
    shard(model, shape, config, make_mesh(config, device, 1, 1))
    allocate(model, device, parameter_device(config, device))
    initialise(model, shape, config.seed)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times = list(_steps(model.train(), config, device, steps))[2:]
    seconds, tokens = statistics.median(times), config.train_batch_size * config.context_length
    known = device_named(torch.cuda.get_device_name()) if device.type == "cuda" else None
    rate = tokens / seconds
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return Measured(
        context_length=config.context_length,
        compiled=config.compile,
        seconds=seconds,
        tokens_per_second=rate,
        mfu=rate * flops_per_token(shape, config.context_length) / known.peak_flops if known else None,
        peak_gib=peak / 2**30,
        planned_gib=estimate(shape, config, 1).gpu / 2**30,
    )


def _steps(model: nn.Module, config: JobConfig, device: torch.device, steps: int) -> Iterator[float]:
    optimizer = adamw(model, config)
    size = (config.train_batch_size, config.context_length + 1)
    for _ in range(steps + 2):
        ids = torch.randint(0, 256, size, device=device)
        began = time.perf_counter()
        logits = model(input_ids=ids[:, :-1]).logits
        loss: Any = nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()
        del logits, loss
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if device.type == "cuda":
            torch.cuda.synchronize()
        yield time.perf_counter() - began


def _jobs(options: argparse.Namespace) -> Iterator[JobConfig]:
    for length in options.contexts:
        for compiled in (False,) if options.plain else (False, True):
            values = {"preset": options.preset, "weights": SCRATCH, "context_length": length}
            layers = min(options.layers, PRESETS[options.preset].shape.num_hidden_layers)
            yield parse({**values, "compile": compiled, "num_hidden_layers": layers})


def _measured(options: argparse.Namespace) -> Iterator[Measured]:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    kinds = "cpu:gloo,cuda:nccl" if options.device == "cuda" else "gloo"
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group(kinds, init_method=f"file://{folder}/meet", rank=0, world_size=1)
        for config in _jobs(options):
            yield measure(config, torch.device(options.device), options.steps)
        dist.destroy_process_group()


def figures() -> Iterator[Figure]:
    """Each way on one GPU, with the defaults; where there is none, that it was not measured."""
    if not torch.cuda.is_available():
        yield Figure("one GPU: tokens a second, MFU, memory", None, "not measured: no GPU here")
        return
    for found in _measured(_parsed([])):
        name = f"one GPU, {found.context_length} tokens{', compiled' if found.compiled else ''}: "
        yield Figure(name + "tokens a second", found.tokens_per_second, "")
        if found.mfu is not None:
            yield Figure(name + "MFU", 100 * found.mfu, "%")
        yield Figure(name + "memory", found.peak_gib, "GiB")


def _parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the trainer's model on one GPU")
    parser.add_argument("--preset", choices=PRESETS, default="mathstral-7b")
    parser.add_argument("--layers", type=int, default=8, help="layers of the shape; default: 8")
    parser.add_argument("--contexts", type=int, nargs="+", default=[4_096, 32_768])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--plain", action="store_true", help="leave torch.compile out")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print one line of JSON a way; returns 2 where there is no GPU."""
    options = _parsed(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no GPU here: nothing is measured", file=sys.stderr)
        print("  hint: --device cpu --preset tiny --contexts 64 tries the code", file=sys.stderr)
        return 2
    for found in _measured(options):
        print(json.dumps(asdict(found)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
