"""Jobs of one rank on packed documents, of the trainer's own parts. What is measured is not known here."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import yaml

from training import attempt
from training.assemble import first_values
from training.config import load
from training.data.opening import begin
from training.loop import Trainer
from training.model.presets import SCRATCH
from training.stop import StopWish

DOCUMENT = 1_500
"""Tokens of a document, in the middle; some are ten times as long."""
_SETTINGS = {
    "weights": SCRATCH,
    "dataset": "../documents",
    "tokenizer": "bytes",
    "index_directory": "../index",
    "shuffle_window": 8,
    "validate_every": 0,
    "compare_every": 0,
    "hang_seconds": 0,
    **dict.fromkeys(("attention_dropout", "residual_dropout", "embedding_dropout"), 0.0),
}


class Rank(Trainer):
    """One that leaves stdout to the figures."""

    def log(self, message: str) -> None:
        print(message, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Place:
    """A folder with documents, and the device that jobs in it train on."""

    folder: Path
    device: torch.device

    def trainer(self, name: str, **settings: Any) -> Trainer:
        """A rank whose job has these settings; nothing of it is built yet."""
        directory = self.folder / name
        directory.mkdir()
        job = directory / "job.yaml"
        job.write_text(
            yaml.safe_dump({**_SETTINGS, "device": self.device.type, **settings}), encoding="utf-8"
        )
        config = load(job)
        if (writing := begin(config, job)) is not None:
            writing.wait()
        environment = {"RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
        return Rank(config, self.device, attempt.begin(config, directory, StopWish(), environment))

    def built(self, name: str, **settings: Any) -> Trainer:
        """One with data and a model of random values; checkpoints are not looked for, nor room for them."""
        trainer = self.trainer(name, **{"checkpoint_every": 1_000_000, **settings})
        trainer.open_data()
        trainer.make()
        first_values(trainer.stepper.model, trainer.chosen, trainer.config.seed, trainer.log)
        return trainer


def metrics(trainer: Trainer) -> list[dict[str, Any]]:
    """The lines of the steps that it has reported."""
    text = (trainer.attempt.run_directory / "metrics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@contextlib.contextmanager
def place(device: str, tokens: int) -> Iterator[Place]:
    """Documents of so many tokens, and a process group of one rank."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    chosen = torch.device(device, 0) if device == "cuda" else torch.device(device)
    kinds = "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo"
    with tempfile.TemporaryDirectory() as folder:
        _write_documents(Path(folder) / "documents", tokens)
        dist.init_process_group(
            kinds,
            init_method=f"file://{folder}/meet",
            rank=0,
            world_size=1,
            device_id=chosen if device == "cuda" else None,  # as a rank of a job
        )
        try:
            yield Place(Path(folder), chosen)
        finally:
            dist.destroy_process_group()


def forget(device: torch.device) -> None:
    """Free what the jobs before held, so that the next one's memory can be measured."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _write_documents(directory: Path, tokens: int) -> None:
    directory.mkdir()
    draw, written = random.Random(1), 0  # noqa: S311  # no secret
    with (directory / "documents.jsonl").open("w", encoding="utf-8") as file:
        while written < tokens:
            length = int(draw.lognormvariate(0, 1) * DOCUMENT) + 1
            file.write(json.dumps({"text": "".join(draw.choices("abcdefgh ", k=length))}) + "\n")
            written += length
