"""The training loop of one rank: step, log, validate, save, stop.

Everything that decides the numbers is in the order it happens here; `start` puts the random state back
last, since building and loading draw from it. Reading the job file and turning errors into exit codes is
pretrain.py's work.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from training import rng, runstate
from training.checkpoint.saving import Checkpoints, Position
from training.config import JobConfig
from training.data.batch import Batch
from training.data.errors import TooLittleText
from training.data.opening import open_samples
from training.model import weights
from training.model.build import build
from training.model.documents import has_flash, keep_apart
from training.model.shape import choose
from training.model.shard import make_mesh, parameter_device, shard
from training.model.values import allocate, initialise
from training.optim import adamw
from training.runstate import RunState
from training.schedule import learning_rate
from training.stop import StopWish


@dataclass(frozen=True)
class StepResult:
    """What one step gave: loss averaged over the ranks, norm of the whole gradient before clipping."""

    loss: float
    grad_norm: float
    lr: float
    data_wait_s: float
    seconds: float
    stop: bool


class Trainer:
    """One rank of a run. `directory` is the job directory; dist must be initialised."""

    def __init__(self, config: JobConfig, directory: Path, device: torch.device, job_id: str) -> None:
        self.config = config
        self.device = device
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.run_directory = directory / "run"
        self.chosen = choose(config, directory)
        self._has_flash = has_flash(self.chosen.shape, config, device)
        self.samples = open_samples(config, directory, self.chosen.shape.vocab_size)
        self.checkpoints = Checkpoints(
            directory / "checkpoints", config.digest(), config.keep_checkpoints, self.log
        )
        self.position = Position()
        self.state = RunState(status=runstate.RUNNING, job_id=job_id)
        self._check_text_suffices()
        self._timeouts_are_short = False
        self.wish = StopWish()
        self.wish.install()

    def run(self) -> str:
        """Train to the end or until told to stop. Returns the final status, done or preempted."""
        self.start()
        while not self.finished():
            result = self.step()
            self.after_step(result)
            if result.stop:
                return self.leave(runstate.PREEMPTED, f"told to stop by {self.wish.signal_name or 'a peer'}")
        return self.leave(runstate.DONE, "")

    def start(self) -> None:
        """Build the model, load the newest good checkpoint, and only then set the random state."""
        ranks_per_node = int(os.environ.get("LOCAL_WORLD_SIZE", self.world))
        self.model = self._build(make_mesh(self.config, self.device, self.world, ranks_per_node))
        self.optimizer = adamw(self.model, self.config)
        self._announce_start()
        loaded = self.checkpoints.load_newest(self.model, self.optimizer, self.device)
        if loaded is None:
            self.log("No Checkpoints Found")
            self._first_values()
            rng.start(self.config.seed, self._random_rank, self.device)
            return
        self.position = loaded.position
        self._note(step=self.position.step, checkpoint=loaded.path.name)
        if loaded.rng is None:
            rng.start(self.config.seed + self.position.step, self._random_rank, self.device)
        else:
            rng.restore(loaded.rng, self.device)

    def finished(self) -> bool:
        """Whether the steps or the epochs are used up; a last batch that would not be full is not begun."""
        if self.position.step >= self.config.num_steps:
            return True
        return not self.samples.holds(self.position.samples + self._global_batch, self.config.num_epochs)

    def step(self) -> StepResult:
        """One optimizer step of all ranks."""
        began = time.perf_counter()
        batch = self.samples.batch(self.position.samples, self.config.train_batch_size, self.rank, self.world)
        waited = time.perf_counter() - began
        lr = learning_rate(self.position.step + 1, self.config)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        loss = self._loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type here
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        mean_loss, stop = self._agree(loss.detach())
        grad_norm = float(norm.full_tensor().item())  # type: ignore[attr-defined]  # a DTensor under FSDP2
        return StepResult(mean_loss, grad_norm, lr, waited, time.perf_counter() - began, stop)

    def after_step(self, result: StepResult) -> None:
        """Count, write the metrics, and validate and save where it is time."""
        tokens = self._global_batch * self.config.context_length
        before = self.position
        self.position = Position(before.step + 1, before.tokens + tokens, before.samples + self._global_batch)
        self._write_metrics(result, tokens / result.seconds)
        if not self._timeouts_are_short:
            self._shorten_timeouts()
        if self.config.validate_every and self.position.step % self.config.validate_every == 0:
            self._validate()
        if self.position.step % self.config.checkpoint_every == 0:
            self.save()

    def save(self) -> None:
        """Commit a checkpoint of the present position, unless there is one."""
        if self.state.checkpoint is not None and self.state.step == self.position.step:
            return
        path = self.checkpoints.save(self.model, self.optimizer, self.position, self.device)
        self.log(f"Checkpoint saved to {path}")
        self._note(step=self.position.step, checkpoint=path.name)

    def leave(self, status: str, reason: str) -> str:
        """Save and say how it ended."""
        if self.position.step > 0:
            self.save()
        known = self.samples.num_samples
        left = (self.config.num_epochs * known if known else math.inf) - self.position.samples
        if status == runstate.DONE and left < self._global_batch:
            self.log(f"{left} samples of the last epoch do not fill a step of {self._global_batch}")
        self._note(status=status, reason=reason)
        self.log(f"Training {status} at step {self.position.step}" + (f": {reason}" if reason else ""))
        return status

    def log(self, message: str) -> None:
        """One line from the first rank. The messages are matched by other tools."""
        if self.rank == 0:
            print(message, flush=True)

    @property
    def _random_rank(self) -> int:
        return 0 if self.config.same_seed else self.rank

    @property
    def _global_batch(self) -> int:
        return self.config.train_batch_size * self.world

    def _check_text_suffices(self) -> None:
        """A run without a single step would end as done; it must not start."""
        if not self.samples.holds(self._global_batch, self.config.num_epochs):
            available = self.config.num_epochs * (self.samples.num_samples or 0)
            raise TooLittleText(
                f"dataset: {available} samples in {self.config.num_epochs} epochs do not fill one step of "
                f"{self._global_batch} samples on {self.world} ranks",
                "lower context_length, or give a longer text as dataset",
            )
        self.log(f"Data: {self.samples.description}")

    def _build(self, mesh: DeviceMesh) -> nn.Module:
        model = build(self.chosen.shape)
        count = sum(parameter.numel() for parameter in model.parameters())
        self.log(f"Created model with total parameters: {count} ({count / 1e9:.2f} B)")
        shard(model, self.chosen.shape, self.config, mesh)
        allocate(model, self.device, parameter_device(self.config, self.device))
        self.log("Wrapped model with FSDP")
        return model.train()

    def _first_values(self) -> None:
        """Published weights or random ones; a checkpoint makes neither necessary."""
        if self.chosen.weights is None:
            initialise(self.model, self.chosen.shape, self.config.seed)
            return
        self.log(f"Loading weights from {self.chosen.weights}")
        weights.load(self.model, self.chosen.weights)

    def _announce_start(self) -> None:
        """Count the attempt. The number comes from the file: a retried step has the old environment."""
        if self.rank == 0:
            runstate.clear_failures(self.run_directory)
            before = runstate.read_state(self.run_directory)
            self._note(attempt=before.attempt + 1)

    def _note(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)
        if self.rank == 0:
            runstate.write_state(self.run_directory, self.state)

    def _loss(self, batch: Batch) -> torch.Tensor:
        ids = torch.from_numpy(batch.ids).to(self.device)
        apart = keep_apart(batch.positions, self.device, flash=self._has_flash)
        logits = self.model(input_ids=ids[:, :-1], **apart).logits
        return nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())

    def _agree(self, loss: torch.Tensor) -> tuple[float, bool]:
        """Mean loss, and whether any rank was told to stop: one small collective for both."""
        wish = float(self.wish.signal_name is not None)
        both = torch.tensor([loss.item(), wish], dtype=torch.float64, device=self.device)
        dist.all_reduce(both)
        total, wishes = both.tolist()
        return total / self.world, wishes > 0

    def _write_metrics(self, result: StepResult, tokens_per_s: float) -> None:
        if self.rank != 0:
            return
        line = {
            "attempt": self.state.attempt,
            "step": self.position.step,
            "tokens": self.position.tokens,
            "loss": result.loss,
            "grad_norm": result.grad_norm,
            "lr": result.lr,
            "tokens_per_s": tokens_per_s,
            "mfu": None,  # the peak of the device is not known here
            "data_wait_s": result.data_wait_s,
            "t": time.time(),
        }
        runstate.append_line(self.run_directory / "metrics.jsonl", line)
        if (self.position.step - 1) % self.config.log_every == 0:
            speed = self._global_batch / result.seconds
            self.log(
                f"Batch {self.position.step - 1} Loss: {result.loss:.5f}, "
                f"Speed: {speed:.2f} samples/sec, lr: {result.lr:.6f}"
            )

    def _validate(self) -> None:
        """Mean loss on text that is not trained on. Draws nothing from the random state: dropout is off."""
        self.model.eval()
        size, count = self.config.val_batch_size, self.config.validate_batches
        with torch.no_grad():
            batches = self.samples.validation(size, count, self.rank, self.world)
            loss = torch.stack([self._loss(batch) for batch in batches]).mean()
        self.model.train()
        mean, _stop = self._agree(loss)
        self.log(f"Batch {self.position.step - 1} Validation loss: {mean:.5f}")

    def _shorten_timeouts(self) -> None:
        """Once the first step is done, a rank that keeps the others waiting is lost."""
        self._timeouts_are_short = True
        timeout = timedelta(seconds=self.config.step_timeout_seconds)
        dist.distributed_c10d._set_pg_timeout(timeout, dist.group.WORLD)
