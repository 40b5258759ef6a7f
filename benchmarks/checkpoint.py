"""`python -m benchmarks.checkpoint`: what a save costs training, beside the two usual ways, and a resume.

Four gloo ranks on CPUs save the same state in turn: gathered on rank 0 and written by it, sharded with
training waiting, and as the trainer does. Only the ratios of one run say something, since they share its
machine and its disk; there is no copy from a GPU here, and the disk is no shared file system. Targets: the
stall at most 0.15 of the first and 0.6 of the second, hashing below 2 % of a save.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import yaml
from torch.distributed.checkpoint import state_dict_saver
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict
from torch.multiprocessing.spawn import spawn

from training.checkpoint import manifest, state
from training.checkpoint.saving import Checkpoints, Position
from training.config import JobConfig, parse
from training.model.build import build
from training.model.shape import choose
from training.model.shard import make_mesh, shard
from training.model.values import allocate, initialise
from training.optim import adamw

CPU = torch.device("cpu")
JOB = {
    "preset": "tiny",
    "device": "cpu",
    "context_length": 64,
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 8,
    "precision": "fp32",
    "validate_every": 0,
}
SHORT = {**JOB, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "checkpoint_every": 5}


class Rank:
    """A sharded model with AdamW's moments, and the three ways to save it into a directory."""

    def __init__(self, config: JobConfig, directory: Path) -> None:
        self._directory = directory
        shape = choose(config, directory).shape
        self.model = build(shape)
        shard(self.model, shape, config, make_mesh(config, CPU, dist.get_world_size(), 1))
        allocate(self.model, CPU, CPU)
        initialise(self.model, shape, config.seed)
        self.optimizer = adamw(self.model, config)
        self.checkpoints = Checkpoints(config, directory, {}, lambda line: None)
        self.checkpoints.load_newest(self.model, self.optimizer, CPU)
        get_state_dict(self.model, self.optimizer)  # makes the moments

    def gathered(self, step: int) -> None:
        """The whole state on rank 0, which writes it while the others wait."""
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        whole = get_state_dict(self.model, self.optimizer, options=options)
        if dist.get_rank() == 0:
            with (self._directory / f"whole-{step}").open("wb") as file:
                torch.save(whole, file)
                os.fsync(file.fileno())
        dist.barrier()

    def sharded(self, step: int) -> None:
        """Each rank writes its shard while all wait."""
        parts = state.capture(self.model, self.optimizer, CPU, dist.get_rank())
        state_dict_saver.save(parts, checkpoint_id=self._directory / f"sharded-{step}")

    def background(self, step: int) -> None:
        """The trainer's way: what is measured is how long it stands still."""
        self.checkpoints.save(self.model, self.optimizer, Position(step), CPU)


def compare(rank: int, world: int, folder: str, rounds: int) -> None:
    """One rank: the three ways in turn; the first one prints what came out."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
    hashing = _timed_hashing()
    found: dict[str, list[float]] = {"gathered": [], "sharded": [], "stall": [], "save": [], "hashing": []}
    ours = Rank(parse(JOB), Path(folder))
    for step in range(rounds + 1):
        found["gathered"].append(_slowest(lambda step=step: ours.gathered(step)))  # type: ignore[misc]
        found["sharded"].append(_slowest(lambda step=step: ours.sharded(step)))  # type: ignore[misc]
        hashing.clear()
        began = time.perf_counter()
        found["stall"].append(_slowest(lambda step=step: ours.background(step)))  # type: ignore[misc]
        ours.checkpoints.finish()
        found["save"].append(time.perf_counter() - began)
        found["hashing"].append(sum(hashing))
    if rank == 0:
        _report({name: statistics.median(values[1:]) for name, values in found.items()})
    dist.barrier()
    os._exit(0)


def _slowest(work: Callable[[], None]) -> float:
    """Seconds of the slowest rank."""
    dist.barrier()
    began = time.perf_counter()
    work()
    took = torch.tensor(time.perf_counter() - began)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return float(took)


def _timed_hashing() -> list[float]:
    original, seconds = manifest.entry, []

    def entry(path: Path) -> manifest.FileEntry:
        began = time.perf_counter()
        try:
            return original(path)
        finally:
            seconds.append(time.perf_counter() - began)

    manifest.entry = entry
    return seconds


def _report(median: dict[str, float]) -> None:
    _line("stall / gathered on rank 0", median["stall"] / median["gathered"], 0.15)
    _line("stall / sharded, training waits", median["stall"] / median["sharded"], 0.6)
    _line("hashing / whole save", median["hashing"] / median["save"], 0.02)
    print(json.dumps({f"{name}_s": round(value, 4) for name, value in median.items()}), flush=True)


def _line(name: str, value: float, target: float) -> None:
    verdict = "ok" if value <= target else "OVER"
    print(f"{name:<52} {value:8.3f} target {target:g}  {verdict}", flush=True)


def resume(folder: Path, rounds: int) -> None:
    """A job with a checkpoint, started again: from the start of the processes to the first new step, and how
    much of that one process needs to import what it uses."""
    job = folder / "job.yaml"
    job.write_text(yaml.safe_dump({**SHORT, "num_steps": 5}), encoding="utf-8")
    _start(job).wait()
    whole, imports = [], []
    for number in range(rounds):
        job.write_text(yaml.safe_dump({**SHORT, "num_steps": 10 + 5 * number}), encoding="utf-8")
        began, before = time.perf_counter(), _steps(folder)
        process = _start(job)
        while _steps(folder) == before and process.poll() is None:
            time.sleep(0.005)
        whole.append(time.perf_counter() - began)
        process.wait()
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import training.pretrain, training.loop"], check=True)
        imports.append(time.perf_counter() - began)
    print(
        f"resume of two ranks: {statistics.median(whole):.2f} s to the first new step; "
        f"imports of one process take {statistics.median(imports):.2f} s",
        flush=True,
    )


def _start(job: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "training.local", "--config", str(job), "--ranks", "2"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def _steps(folder: Path) -> int:
    path = folder / "run" / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main(arguments: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Measure saves and a resume")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    work: Any = spawn
    with tempfile.TemporaryDirectory() as folder:
        work(compare, (options.ranks, folder, options.rounds), nprocs=options.ranks)
    with tempfile.TemporaryDirectory() as folder:
        resume(Path(folder), options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
