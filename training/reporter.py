"""Turns what the ranks said about a step into lines of the log, of the metrics and of other places.

Only the first rank writes; every rank checks, so that all end together when the loss is no number.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training import runstate
from training.errors import JobError
from training.exchange import Answer
from training.metrics.record import Record
from training.metrics.sinks import Sink
from training.phases import Phases
from training.speed import Slow, slow_ranks
from training.stop import Stop


class NonFiniteError(JobError):
    """The loss or the gradient is no number. The same on every rank."""


@dataclass(frozen=True)
class Work:
    """What the first rank knows of a step by itself."""

    step: int
    tokens: int
    """Trained on since the beginning of the run."""
    samples: int
    """Of this step, over all ranks."""
    lr: float
    began: float
    """When, by time.perf_counter."""


@dataclass(frozen=True)
class Rates:
    """What turns steps into rates."""

    world: int
    context_length: int
    flops_per_token: Callable[[float], float]
    """By the length of the documents that the tokens stand in."""
    peak_flops: float | None
    """Of one device; None where it is not known."""


@dataclass
class Reporter:
    """Reports steps as their answers come in."""

    run_directory: Path
    attempt: int
    rates: Rates
    log_every: int
    compare_every: int
    phases: Phases
    log: Callable[[str], None]
    writes: bool
    """Whether this is the first rank."""
    memory_gib: Callable[[], float | None]
    sinks: Sequence[Sink] = ()
    stop: Stop | None = None
    """What the ranks wished, as far as it was heard."""
    _slow: list[Slow] = field(default_factory=list)
    _under_way: dict[int, Work] = field(default_factory=dict)
    _heard: float = 0.0

    def expect(self, work: Work) -> None:
        """A step whose answer is under way."""
        self._under_way[work.step] = work

    def hear(self, answers: Iterable[Answer]) -> None:
        """Report the steps whose answers have come. Raises NonFiniteError, naming step and ranks.

        A step lasts until its answer comes, from its beginning or, where it began before the GPU was done
        with the one before, from that one's answer.
        """
        for answer in answers:
            work = self._under_way.pop(answer.step)
            seconds = answer.arrived - max(work.began, self._heard)
            self._heard = answer.arrived
            self.stop = self.stop or answer.stop
            self._step(work, answer, seconds)

    def _step(self, work: Work, answer: Answer, seconds: float) -> None:
        check_finite(answer)
        if self.compare_every and answer.step % self.compare_every == 0:
            self._compare(answer)
        if not self.writes:
            return
        record = self._record(work, answer, seconds)
        runstate.append_line(self.run_directory / "metrics.jsonl", record.values())
        for sink in self.sinks:
            sink.step(record, self.phases.seconds)
        if (record.step - 1) % self.log_every == 0:
            self._log_step(record, work.samples / seconds)

    def evaluated(self, step: int, loss: float) -> None:
        """Report the loss on validation text; before the first step `step` is 0."""
        self.log(f"Batch {step - 1} Validation loss: {loss:.5f}" if step else f"First validation: {loss:.5f}")
        if self.writes:
            line = {"attempt": self.attempt, "step": step, "loss": loss, "t": time.time()}
            runstate.append_line(self.run_directory / "validation.jsonl", line)
        for sink in self.sinks:
            sink.evaluated(step, loss)

    def close(self, status: str) -> None:
        """The attempt ends."""
        for sink in self.sinks:
            sink.close(status)

    def _record(self, work: Work, answer: Answer, seconds: float) -> Record:
        rates = self.rates
        tokens_per_s = work.samples * rates.context_length / seconds
        each = tokens_per_s / rates.world
        done = each * rates.flops_per_token(answer.document_length)
        return Record(
            attempt=self.attempt,
            step=work.step,
            tokens=work.tokens,
            loss=answer.loss,
            grad_norm=answer.grad_norm,
            lr=work.lr,
            tokens_per_s=tokens_per_s,
            tokens_per_s_per_gpu=each,
            mfu=done / rates.peak_flops if rates.peak_flops else None,
            data_wait_s=max(answer.data_wait_s),
            step_s=seconds,
            memory_gib=self.memory_gib(),
            slow_ranks=[slow.rank for slow in self._slow],
            t=time.time(),
        )

    def _log_step(self, record: Record, samples_per_s: float) -> None:
        """The first line is matched by other tools; what was added later stands in a second one."""
        self.log(
            f"Batch {record.step - 1} Loss: {record.loss:.5f}, "
            f"Speed: {samples_per_s:.2f} samples/sec, lr: {record.lr:.6f}"
        )
        mfu = "unknown" if record.mfu is None else f"{record.mfu:.1%}"
        self.log(
            f"Step {record.step}: {record.tokens_per_s_per_gpu:.0f} tokens/s per GPU, MFU {mfu}, "
            f"data wait {record.data_wait_s:.3f} s, gradient norm {record.grad_norm:.4f}"
        )

    def _compare(self, answer: Answer) -> None:
        self._slow = slow_ranks(answer.forward_s)
        for slow in self._slow:
            self.log(str(slow))


def check_finite(answer: Answer) -> None:
    """Raises NonFiniteError when a rank's loss, or the norm, is infinite or no number."""
    ranks = [rank for rank, loss in enumerate(answer.losses) if not math.isfinite(loss)]
    if ranks:
        values = ", ".join(sorted({f"{answer.losses[rank]}" for rank in ranks}))
        raise NonFiniteError(
            f"step {answer.step}: the loss is {values} on rank{'s' if len(ranks) > 1 else ''} "
            f"{', '.join(map(str, ranks))}"
        )
    if not math.isfinite(answer.grad_norm):
        raise NonFiniteError(
            f"step {answer.step}: the gradient's norm is {answer.grad_norm}, the loss finite on every rank"
        )
