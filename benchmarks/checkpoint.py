"""`python -m benchmarks.checkpoint`: what a save costs training, beside the two usual ways.

Four gloo ranks on CPUs save the same state in turn: gathered on rank 0 and written by it, sharded with
training waiting, and as the trainer does. Only the ratios of one run say something, since they share its
machine and its disk; there is no copy from a GPU here, and the disk is no shared file system. Targets: the
stall at most 0.15 of the first and 0.6 of the second, hashing below 2 % of a save.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint import state_dict_saver
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict
from torch.multiprocessing.spawn import spawn

from benchmarks.figures import Figure, show
from training.checkpoint import hashes, state
from training.checkpoint.manifest import FileEntry, Position
from training.checkpoint.saving import Checkpoints
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
        self.waiting = {"gathered": self.gathered, "sharded": self.sharded}

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


def figures(rounds: int = 3, ranks: int = 4) -> Iterator[Figure]:
    """The medians of some rounds, as ratios."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    start: Any = spawn
    with tempfile.TemporaryDirectory() as folder:
        start(compare, (ranks, folder, rounds), nprocs=ranks)
        found = json.loads((Path(folder) / "found.json").read_text())
    return ratios({name: statistics.median(seconds) for name, seconds in found.items()})


def ratios(seconds: Mapping[str, float]) -> Iterator[Figure]:
    """The targets are set as ratios, since they hold on any disk."""
    stall = seconds["stall"]
    yield Figure("save: stall / whole state gathered and written", stall / seconds["gathered"], "x", 0.15)
    yield Figure("save: stall / shards written while training waits", stall / seconds["sharded"], "x", 0.6)
    yield Figure("save: hashing, of the whole save", 100 * seconds["hashing"] / seconds["save"], "%", 2)


def compare(rank: int, world: int, folder: str, rounds: int) -> None:
    """One rank: the three ways in turn; the first one writes what came out, without the first round."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
    hashing = _timed_hashing()
    ours = Rank(parse(JOB), Path(folder))
    found = [_round(ours, step, hashing) for step in range(rounds + 1)][1:]
    if rank == 0:
        columns = {name: [each[name] for each in found] for name in found[0]}
        (Path(folder) / "found.json").write_text(json.dumps(columns))
    dist.barrier()
    os._exit(0)


def _round(ours: Rank, step: int, hashing: list[float]) -> dict[str, float]:
    seconds = {name: _slowest(functools.partial(way, step)) for name, way in ours.waiting.items()}
    hashing.clear()
    began = time.perf_counter()
    seconds["stall"] = _slowest(functools.partial(ours.background, step))
    ours.checkpoints.finish()
    return {**seconds, "save": time.perf_counter() - began, "hashing": sum(hashing)}


def _slowest(work: Callable[[], None]) -> float:
    """Seconds of the slowest rank."""
    dist.barrier()
    began = time.perf_counter()
    work()
    took = torch.tensor(time.perf_counter() - began)
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return float(took)


def _timed_hashing() -> list[float]:
    original, seconds = hashes.entry, []

    def entry(path: Path) -> FileEntry:
        began = time.perf_counter()
        try:
            return original(path)
        finally:
            seconds.append(time.perf_counter() - began)

    hashes.entry = entry
    return seconds


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Measure what a save costs")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    return show(figures(options.rounds, options.ranks))


if __name__ == "__main__":
    sys.exit(main())
