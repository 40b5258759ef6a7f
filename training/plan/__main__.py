"""`python -m training.plan --preset NAME | --config job.yaml [key=value ...]`: what a job will take.

Needs no GPU, no torch and no weights, and takes a second. Exit codes: 0 it fits, 2 it cannot or the question
is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from training.compute import DEVICES
from training.config import JobConfig, JobConfigError, load, parse
from training.model.presets import PRESETS
from training.model.shape import planned, shard_group
from training.plan.outline import Machine, plan
from training.plan.text import text


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.plan")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--preset", help="a name of training/model/presets.py, with the settings' defaults")
    what.add_argument("--config", type=Path, help="the job file, job.yaml")
    parser.add_argument("--world", type=int, default=32, help="GPUs; default: 32")
    parser.add_argument("--gpus-per-node", type=int, default=8, help="for hybrid sharding; default: 8")
    parser.add_argument("--gpu", choices=DEVICES, default="A100-80GB", help="default: A100-80GB")
    parser.add_argument("--gpu-memory", type=int, metavar="GIB", help="default: the GPU's own")
    parser.add_argument("--reserve", type=float, default=4.0, metavar="GIB", help="kept free; default: 4")
    parser.add_argument("--file-system", type=int, default=1200, metavar="GIB", help="default: 1200")
    parser.add_argument("--mfu", type=float, default=0.4, help="part of the GPU's peak; default: 0.4")
    parser.add_argument("--price", type=float, metavar="USD", help="of a GPU and hour")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="a setting in place of the file's")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Print the plan; returns the exit code."""
    parser = _arguments()
    options = parser.parse_args(arguments)
    try:
        config = _config(options)
        shape = planned(config, options.config.absolute().parent if options.config else Path())
        machine = _machine(options, shard_group(config, options.world, options.gpus_per_node))
    except (JobConfigError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    result = plan(shape, config, machine)
    if options.json:
        print(json.dumps({**result.as_json(), "world": machine.gpus, "mfu": machine.utilisation}, indent=1))
    else:
        print(text(result, config, machine), end="")
    return 2 if result.problems else 0


def _config(options: argparse.Namespace) -> JobConfig:
    if options.config:
        return load(options.config, options.overrides)
    preset = PRESETS.get(options.preset)
    longest = preset.shape.max_context_length if preset else JobConfig.context_length
    content = {"preset": options.preset, "context_length": min(JobConfig.context_length, longest)}
    return parse(content, "command line", options.overrides)


def _machine(options: argparse.Namespace, shards: int) -> Machine:
    if options.world < 1 or not 0 < options.mfu <= 1:
        raise ValueError("plan: --world must be 1 or more and --mfu a part: above 0, at most 1")
    device = DEVICES[options.gpu]
    return Machine(
        gpus=options.world,
        device=replace(device, memory_gib=options.gpu_memory or device.memory_gib),
        shards=shards,
        reserve_gib=options.reserve,
        file_system_gib=options.file_system,
        utilisation=options.mfu,
        price=options.price,
    )


if __name__ == "__main__":
    sys.exit(main())
