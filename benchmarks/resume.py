"""`python -m benchmarks.resume`: from the start of torchrun to the first new step of a job that goes on from
a checkpoint, and where that time goes.

Two gloo ranks of a tiny model, so what is measured is what every job waits for, whatever its size; reading
a real checkpoint and meeting over many nodes come on top. The files are in the page cache. Each rank is the
trainer's own entry point with marks between its parts; the shares of the imports come from Python's own
`-X importtime`, which counts a module's time without that of the modules it imports.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks.figures import Figure, show
from benchmarks.marked_rank import MODEL, PARTS

ROOT = Path(__file__).parents[1]
JOB = {
    "preset": "tiny",
    "device": "cpu",
    "context_length": 64,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "precision": "fp32",
    "checkpoint_every": 2,
    "validate_every": 0,
}
_TIME = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


def figures(rounds: int = 3) -> Iterator[Figure]:
    """The medians of some rounds; shares add up to the whole of the median round only about."""
    with tempfile.TemporaryDirectory() as folder:
        _train(Path(folder), 2)
        found = [_train(Path(folder), 2 + 2 * number) for number in range(1, rounds + 1)]
    yield from split({part: statistics.median(each[part] for each in found) for part in PARTS})
    for name, percent in shares(_import_times()).items():
        yield Figure(f"  share of the imports: {name}", percent, "%")


def split(seconds: dict[str, float]) -> Iterator[Figure]:
    """The whole, then each part in seconds and as its share."""
    whole = sum(seconds.values())
    yield Figure("resume: torchrun to the first new step, two ranks", whole, "s")
    for part, value in seconds.items():
        yield Figure(f"  {part} ({value / whole:.0%})", value, "s")


def shares(times: dict[str, int]) -> dict[str, float]:
    """Percent of the import time by whose module it is."""
    owners = dict.fromkeys(("torch", "transformers", "training", "other"), 0)
    for module, microseconds in times.items():
        top = module.partition(".")[0]
        owners[top if top in owners else "other"] += microseconds
    return {owner: 100 * value / sum(times.values()) for owner, value in owners.items()}


def _train(folder: Path, until: int) -> dict[str, float]:
    """Start the job with torchrun to go on to a step; seconds of each part on the first rank."""
    job = folder / "job.yaml"
    job.write_text(yaml.safe_dump({**JOB, "num_steps": until}), encoding="utf-8")
    marks = folder / "marks.json"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    began = time.monotonic()
    command = [*torchrun, "-m", "benchmarks.marked_rank", str(job), str(marks)]
    subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    return parts(began, json.loads(marks.read_text()))


def parts(began: float, ends: dict[str, float]) -> dict[str, float]:
    """Seconds of each part, in turn, from the moments at which they ended."""
    moments = [began, *(ends[part] for part in PARTS)]
    return {part: end - start for part, start, end in zip(PARTS, moments, moments[1:], strict=False)}


def _import_times() -> dict[str, int]:
    """Microseconds of each module that a rank imports, without those it imports itself."""
    code = f"import training.pretrain; training.pretrain.load_libraries(); import {MODEL}"
    command = [sys.executable, "-X", "importtime", "-c", code]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stderr
    return {name: int(own) for own, name in _TIME.findall(said)}


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Measure how long a job takes to go on")
    parser.add_argument("--rounds", type=int, default=3)
    return show(figures(parser.parse_args().rounds))


if __name__ == "__main__":
    sys.exit(main())
