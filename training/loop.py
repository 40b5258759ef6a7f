"""The training loop of one rank: step, report, evaluate, save, leave.

Everything that decides the numbers is in the order it happens here; `start` puts the random state back
last, since building and loading draw from it. Reading the job file and turning errors into exit codes is
pretrain.py's work.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import asdict
from datetime import timedelta

import torch
import torch.distributed as dist

from training import rng, runstate
from training.assemble import first_values, reporter, stepper
from training.attempt import Attempt
from training.checkpoint.manifest import Position
from training.checkpoint.saving import Checkpoints
from training.config import JobConfig
from training.data.opening import open_samples
from training.evaluate import evaluate
from training.exchange import Exchange, Words
from training.feed import Feed
from training.metrics.sinks import open_sinks
from training.model.build import layers
from training.model.shape import choose
from training.model.shard import groups
from training.reporter import Work
from training.saves import Saves
from training.schedule import learning_rate
from training.speed import ForwardTimer
from training.stop import Stop
from training.together import Together, ToldToStop


class Trainer:
    """One rank of a run; dist must be initialised."""

    def __init__(self, config: JobConfig, device: torch.device, attempt: Attempt) -> None:
        self.config = config
        self.device = device
        self.attempt = attempt
        self.phases = attempt.phases
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.chosen = choose(config, attempt.directory)
        self.checkpoints = Checkpoints(config, attempt.directory, asdict(self.chosen.shape), self.log)
        self.saves = Saves(self.checkpoints, attempt, self.log)
        self.exchange = Exchange(device, late=device.type == "cuda")
        self.position = Position()
        self.reporter = reporter(config, attempt, self.chosen.shape, device, self.world, self.log)
        self._timeouts_are_short = False

    def run(self) -> str:
        """Train to the end or until told to stop. Returns the final status, done or preempted."""
        try:
            return self.leave(self._until_the_end())
        except Exception:
            self.saves.let_end()
            self.reporter.close(runstate.FAILED)
            raise

    def _until_the_end(self) -> Stop | None:
        try:
            return self.start() or self._train()
        except ToldToStop as told:
            return told.stop

    def _train(self) -> Stop | None:
        while not self.finished():
            self.step()
            if stop := self.after_step():
                return stop
        return None

    def start(self) -> Stop | None:
        """Open the data, build the model, load the newest good checkpoint; only then set the random state.

        Returns early, with nothing lost, when a rank was told to stop meanwhile. Raises ToldToStop, as
        `finished` does, where that happens while they wait for data.
        """
        if stop := self._told_to_stop():
            return stop
        with self.phases.within("load"):
            self.open_data()
            self.make()
            found_none = self._load()
        if self.rank == 0:
            self.reporter.sinks = open_sinks(self.config, self.attempt.directory, self.attempt.state)
        if stop := self._told_to_stop():
            return stop
        return self._first_evaluation() if found_none else None

    def finished(self) -> bool:
        """Whether the steps or the epochs are used up; a last batch that would not be full is not begun."""
        if self.position.step >= self.config.num_steps:
            return True
        return not self.feed.holds_a_step(self.position.samples)

    def step(self) -> None:
        """One optimizer step of all ranks."""
        self.phases.enter("step")
        began = time.perf_counter()
        before, each = self.position, self.feed.per_step
        lr = learning_rate(before.step + 1, self.config)
        batches = self.feed.batches(before.samples)
        loss, norm = self.stepper.step(batches, self.config.gradient_accumulation, lr)
        samples = before.samples + each
        self.position = Position(before.step + 1, samples * self.config.context_length, samples)
        self.exchange.send(self.position.step, loss, norm, self._words())
        self.reporter.expect(Work(self.position.step, self.position.tokens, each, lr, self.feed.asked))
        self._finish_step(began)

    def after_step(self) -> Stop | None:
        """Evaluate and save where it is time; whether to stop now."""
        stop = self.reporter.stop
        self.saves.hear()
        step = self.position.step
        if self.config.validate_every and step % self.config.validate_every == 0:
            stop = self._evaluate() or stop
        if self.checkpoints.due(step):
            self._save()
            stop = self._told_to_stop() or stop
        return stop

    def leave(self, stop: Stop | None) -> str:
        """Save, wait until it is committed, and say how it ended."""
        self._hear_everything()
        if self.position.step > 0:
            self._save()
            self.saves.finish()
        self.phases.enter("end")
        status = runstate.DONE if stop is None else runstate.PREEMPTED
        reason, by = (stop.reason, stop.by) if stop else ("", "")
        if stop is None and self.position.step < self.config.num_steps:
            self.log(self.feed.used_up(self.position.samples))
        self.attempt.note(status=status, reason=reason, stopped_by=by)
        self.log(f"Training {status} at step {self.position.step}" + (f": {reason}" if reason else ""))
        self.reporter.close(status)
        return status

    def log(self, message: str) -> None:
        """One line from the first rank. The messages are matched by other tools."""
        if self.rank == 0:
            with contextlib.suppress(OSError):  # a log on a full disk must not end the run
                print(message, flush=True)

    def _words(self) -> Words:
        every = self.config.compare_every
        is_last = every and self.position.step % every == 0
        forward_s = self.timer.take() / every if is_last else 0.0
        return Words(self._wish(), forward_s, self.feed.waited, self.feed.document_length)

    def _wish(self) -> int:
        """What this rank wishes, a number of training.stop."""
        return self.attempt.wish.number(self.phases.limits.to_leave)

    def _finish_step(self, began: float) -> None:
        """Report what is known by now; limits follow from the work alone, without waiting for data."""
        answers = self.exchange.receive()
        self.phases.reached(self.position.step, time.perf_counter() - began)
        if not self._timeouts_are_short:
            self._shorten_timeouts()
        self.reporter.hear(answers)

    def _hear_everything(self) -> None:
        """Wait for the last step and report it, so that what follows is not counted as its time."""
        self.reporter.hear(self.exchange.receive(everything=True))

    def _told_to_stop(self) -> Stop | None:
        return self.exchange.agree(self._wish())

    def _evaluate(self, num_batches: int | None = None) -> Stop | None:
        """Loss on text that is not trained on; cut short, and not reported, when told to stop."""
        self._hear_everything()
        with self.phases.within("evaluate"):
            batches = self.feed.validation(num_batches or self.config.validate_batches)
            loss, stop = evaluate(self.stepper, batches, self._sign_of_life)
        if stop is None:
            self.reporter.evaluated(self.position.step, loss)
        return stop

    def _first_evaluation(self) -> Stop | None:
        """One batch before the first step: what is wrong with evaluating should not show hours later."""
        return self._evaluate(1) if self.config.validate_every else None

    def _sign_of_life(self) -> Stop | None:
        self.phases.beat()
        return self._told_to_stop()

    def _save(self) -> None:
        """Begin a checkpoint of the present position, unless there is one. What is saved is known good."""
        if self.checkpoints.last_step == self.position.step:
            return
        self._hear_everything()
        self.saves.begin(self.stepper.model, self.stepper.optimizer, self.position, self.device)

    def open_data(self) -> None:
        """Returns once there is data for the first step. Raises DataError."""
        wait = Together(self.exchange, self._wish, self.phases, self.log)
        samples = open_samples(self.config, self.attempt.directory, self.chosen.shape.vocab_size, wait)
        self.feed = Feed(samples, self.config, self.rank, self.world, self.phases)
        self.feed.check_suffices()
        self.log(f"Data: {samples.description}")

    def make(self) -> None:
        """The model, its optimizer, and what takes and times the steps."""
        self.stepper = stepper(self.config, self.chosen.shape, self.device, self.world, self.log)
        timed = layers(self.stepper.model) if self.config.compare_every else []
        self.timer = ForwardTimer(timed, self.device)

    def _load(self) -> bool:
        """Put the newest good checkpoint in place, or first values; whether there was no checkpoint."""
        random_rank = 0 if self.config.same_seed else self.rank
        loaded = self.checkpoints.load_newest(self.stepper.model, self.stepper.optimizer, self.device)
        if loaded is None:
            self.log("No Checkpoints Found")
            first_values(self.stepper.model, self.chosen, self.config.seed, self.log)
            rng.start(self.config.seed, random_rank)
            self.phases.resumed(0)
            return True
        checkpoint, random_state = loaded
        self.position = checkpoint.content.position
        self.attempt.note(step=self.position.step, checkpoint=checkpoint.path.name)
        self.phases.resumed(self.position.step)
        if random_state is None:
            rng.start(self.config.seed + self.position.step, random_rank)
        else:
            rng.restore(random_state, self.device)
        return False

    def _shorten_timeouts(self) -> None:
        """Once the first step is done, a rank that keeps the others waiting is lost."""
        self._timeouts_are_short = True
        timeout = timedelta(seconds=self.config.step_timeout_seconds)
        for group in (dist.group.WORLD, *groups(self.stepper.model)):
            dist.distributed_c10d._set_pg_timeout(timeout, group)
