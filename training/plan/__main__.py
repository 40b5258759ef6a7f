"""`python -m training.plan --preset NAME | --config job.yaml [key=value ...]`: what a job will take.

Needs no GPU, no torch and no weights, and takes a second. Exit codes: 0 it fits, 2 it cannot or the question
is wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from training.arguments import add_overrides
from training.compute import DEVICES
from training.config import JobConfig, JobConfigError, load, parse
from training.model.presets import PRESETS
from training.model.shape import planned, shard_group
from training.plan.machine import Machine
from training.plan.outline import plan
from training.plan.text import text

ASSUMED = "A100-80GB"
"""The GPU of the published job."""


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.plan")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--preset", help="a name of training/model/presets.py, with the settings' defaults")
    what.add_argument("--config", type=Path, help="the job file, job.yaml")
    count, amount = _number(int, 1), _number(float, 0)
    parser.add_argument("--world", type=count, default=32, metavar="N", help="GPUs; default: 32")
    parser.add_argument("--gpus-per-node", type=count, default=8, metavar="N", help="default: 8")
    parser.add_argument("--gpu", choices=DEVICES, help=f"default: {ASSUMED}")
    parser.add_argument("--gpu-memory", type=count, metavar="GIB", help="default: the GPU's own")
    parser.add_argument("--reserve", type=amount, default=4.0, metavar="GIB", help="kept free; default: 4")
    parser.add_argument("--file-system", type=count, default=1200, metavar="GIB", help="default: 1200")
    parser.add_argument("--mfu", type=part, default=0.4, help="part of the GPU's peak; default: 0.4")
    parser.add_argument(
        "--document-length", type=count, metavar="N", help="of the document of a token, on average, in tokens"
    )
    parser.add_argument("--price", type=amount, metavar="USD", help="of a GPU and hour")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    add_overrides(parser)
    return parser


def _number(kind: Callable[[str], float], low: float) -> Callable[[str], float]:
    """Reads a number that is not below `low`."""

    def read(text: str) -> float:
        value = kind(text)
        if not low <= value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {low:g} on")
        return value

    read.__name__ = "number"  # for what argparse says of a word
    return read


def part(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a part: above 0, at most 1")
    return value


def main(arguments: list[str] | None = None) -> int:
    """Print the plan; returns the exit code."""
    parser = _arguments()
    options = parser.parse_intermixed_args(arguments)
    try:
        config = _config(options)
        shape = planned(config, options.config.absolute().parent if options.config else Path())
        machine = _machine(options, shard_group(config, options.world, options.gpus_per_node))
    except JobConfigError as error:
        print(error, file=sys.stderr)
        return 2
    result = plan(shape, config, machine, options.document_length)
    if options.json:
        print(json.dumps({**result.as_json(), **machine.as_json()}, indent=1))
    else:
        print(text(result, config, machine, assumed=options.gpu is None), end="")
    return 2 if result.problems else 0


def _config(options: argparse.Namespace) -> JobConfig:
    if options.config:
        return load(options.config, options.overrides)
    preset = PRESETS.get(options.preset)
    longest = preset.shape.max_context_length if preset else JobConfig.context_length
    content = {"preset": options.preset, "context_length": min(JobConfig.context_length, longest)}
    return parse(content, "command line", options.overrides)


def _machine(options: argparse.Namespace, shards: int) -> Machine:
    name = options.gpu or ASSUMED
    device = DEVICES[name]
    return Machine(
        gpus=options.world,
        gpu=name,
        device=replace(device, memory_gib=options.gpu_memory or device.memory_gib),
        shards=shards,
        reserve_gib=options.reserve,
        file_system_gib=options.file_system,
        utilisation=options.mfu,
        price=options.price,
    )


if __name__ == "__main__":
    sys.exit(main())
