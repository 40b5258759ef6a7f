"""``python -m benchmarks.step_time``: a step of the trainer beside one of the shortest FSDP2 loop that trains
the same model on the same ranks, split alike. Target: at most 1.05.

Two gloo ranks on CPUs, in one process group, one step of each in turn; the median of the pairs' ratios, by
the clock and by the first rank's processor time, which other programs disturb less. What the trainer adds is
per step, not per token, so that with a real model's steps it is less.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import yaml
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing.spawn import spawn
from torch.utils.checkpoint import checkpoint
from transformers.models.mistral.modeling_mistral import MistralForCausalLM

from benchmarks.figures import Figure, show
from training import attempt
from training.config import JobConfig, load
from training.loop import Trainer
from training.model.build import hugging_face_config, layers
from training.model.shape import choose
from training.stop import StopWish

JOB = {
    "preset": "tiny",
    "device": "cpu",
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 4,
    "context_length": 256,
    "train_batch_size": 1,
    "precision": "fp32",
    "attention_dropout": 0.0,
    "residual_dropout": 0.0,
    "embedding_dropout": 0.0,
    "checkpoint_every": 100_000,
    "validate_every": 0,
}


class Bare:
    """What is left when nothing is logged, counted, watched or saved."""

    def __init__(self, config: JobConfig, world: int) -> None:
        self.config = config
        self.model: nn.Module = MistralForCausalLM(hugging_face_config(choose(config, Path()).shape)).train()
        mesh = init_device_mesh("cpu", (world,))
        for layer in layers(self.model):
            layer.forward = _recomputed(layer.forward)
            fully_shard(layer, mesh=mesh)
        embedding, *end = map(self.model.get_submodule, ("model.embed_tokens", "model.norm", "lm_head"))
        fully_shard(embedding, mesh=mesh)
        fully_shard(end, mesh=mesh, reshard_after_forward=False)
        fully_shard(self.model, mesh=mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4, fused=True)

    def step(self, ids: torch.Tensor) -> float:
        """Forward, backward, clip, step; the loss as a number."""
        logits = self.model(input_ids=ids[:, :-1]).logits
        loss = nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type here
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()


def _recomputed(forward: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: checkpoint(forward, *args, use_reentrant=False, **kwargs)


def compare(rank: int, world: int, folder: str, steps: int) -> None:
    """One rank: steps of both in turn; the first one writes their seconds."""
    sys.stdout = Path(os.devnull).open("w")  # the trainer's own lines
    torch.set_num_threads(1)
    directory = Path(folder)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
    config = load(directory / "job.yaml")
    bare = Bare(config, world)
    environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world)}
    trainer = Trainer(config, torch.device("cpu"), attempt.begin(config, directory, StopWish(), environment))
    trainer.start()
    size = (config.train_batch_size, config.context_length + 1)
    found = []
    for _ in range(steps + 3):
        ids = torch.randint(0, 256, size)
        plain, ours = _seconds(functools.partial(bare.step, ids)), _seconds(functools.partial(_step, trainer))
        found.append({"clock": (plain[0], ours[0]), "processor": (plain[1], ours[1])})
    if rank == 0:
        (directory / "found.json").write_text(json.dumps(found[3:]))
    dist.barrier()
    os._exit(0)


def _step(trainer: Trainer) -> None:
    trainer.step()
    trainer.after_step()


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of this process's processor time."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def figures(steps: int = 30, ranks: int = 2) -> Iterator[Figure]:
    """The medians of the pairs' ratios."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    start: Any = spawn
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "job.yaml").write_text(yaml.safe_dump(JOB), encoding="utf-8")
        (Path(folder) / "run").mkdir()
        start(compare, (ranks, folder, steps), nprocs=ranks)
        found = json.loads((Path(folder) / "found.json").read_text())
    for kind in ("clock", "processor"):
        ratio = statistics.median(ours / plain for plain, ours in (each[kind] for each in found))
        yield Figure(f"step / that of a bare FSDP2 loop, by the {kind}", ratio, "x", 1.05)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Compare the trainer's step with a bare FSDP2 loop's")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    return show(figures(options.steps, options.ranks))


if __name__ == "__main__":
    sys.exit(main())
