"""``python -m benchmarks.gpu``: the first thing to run on a GPU. Checks what was only tried on CPUs, and
measures what one GPU does with the trainer's own loop: tokens a second, MFU, and memory beside the plan's.

The published shape with fewer layers, since optimizer and gradients of all do not fit one GPU; contexts of
4,096 and 32,768 tokens, packed with documents, with and without torch.compile.

This has not been run on a GPU yet: no figure of it is known. Where there is none, ``--device cpu --preset
tiny --contexts 64`` runs the same code, to see that it works; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks import gpu_checks, packed
from benchmarks.figures import Figure, show
from training.compute import device_named
from training.model.presets import PRESETS
from training.plan.machine import GIB
from training.plan.memory import estimate

WARM_UP = 2
"""Steps that are not measured: kernels are chosen and layers compiled."""


def measure(place: packed.Place, steps: int, settings: dict[str, Any]) -> Iterator[Figure]:
    """Train, and report as the trainer does. The last step's answer is not waited for."""
    length, compiled = settings["context_length"], settings["compile"]
    name = f"{length:,} tokens{', compiled' if compiled else ''}: "
    ours = place.built(f"measured-{length}-{compiled}", num_steps=WARM_UP + steps + 1, **settings)
    while not ours.finished():
        ours.step()
        ours.after_step()
    lines = packed.metrics(ours)[WARM_UP : WARM_UP + steps]
    yield Figure(name + "tokens a second", statistics.median(line["tokens_per_s"] for line in lines), "")
    if lines[-1]["mfu"] is not None:
        yield Figure(name + "MFU", 100 * statistics.median(line["mfu"] for line in lines), "%")
    if (peak := lines[-1]["memory_gib"]) is not None:
        planned = estimate(ours.chosen.shape, ours.config, shards=1).gpu / GIB
        yield Figure(name + "memory", peak, "GiB")
        yield Figure(name + "memory / what the plan says", peak / planned, "x", 1.0)


def _figures(options: argparse.Namespace) -> Iterator[Figure]:
    layers = PRESETS[options.preset].shape.num_hidden_layers
    tokens = (options.steps + 50) * max(options.contexts)
    with packed.place(options.device, tokens) as place:
        checked = {"num_hidden_layers": min(2, layers), "context_length": min(options.contexts)}
        yield from gpu_checks.checks(place, {"preset": options.preset, **checked})
        for length in options.contexts:
            for compiled in (False,) if options.plain else (False, True):
                settings = {"preset": options.preset, "num_hidden_layers": min(options.layers, layers)}
                yield from measure(
                    place, options.steps, {**settings, "context_length": length, "compile": compiled}
                )
                packed.forget(place.device)


def figures() -> Iterator[Figure]:
    """All of it with the defaults; where there is no GPU, that it was not measured."""
    if not torch.cuda.is_available():
        yield Figure("one GPU: checks, tokens a second, MFU, memory", None, "not measured: no GPU here")
        return
    if device_named(torch.cuda.get_device_name()) is None:
        yield Figure("one GPU: MFU", None, f"not known of {torch.cuda.get_device_name()}")
    yield from _figures(_parsed([]))


def _parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Check and measure the trainer on one GPU")
    parser.add_argument("--preset", choices=PRESETS, default="mathstral-7b")
    parser.add_argument("--layers", type=int, default=8, help="layers of the shape; default: 8")
    parser.add_argument("--contexts", type=int, nargs="+", default=[4_096, 32_768])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--plain", action="store_true", help="leave torch.compile out")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the figures; returns 2 where there is no GPU, 1 where one is over its target."""
    options = _parsed(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no GPU here: nothing is measured", file=sys.stderr)
        print("  hint: --device cpu --preset tiny --contexts 64 tries the code", file=sys.stderr)
        return 2
    return show(_figures(options))


if __name__ == "__main__":
    sys.exit(main())
