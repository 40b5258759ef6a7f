"""What tests change inside a rank: faults, and guarantees taken away for negative controls.

Each function is named by a test and runs in every rank before the trainer.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def without_random_state(rank: int) -> None:
    """Negative control: the random state of the checkpoint is not put back."""
    from training import rng

    rng.restore = lambda state, device: rng.start(42, rank)


def random_state_of_first_rank(rank: int) -> None:
    """Negative control: every rank goes on with the random state of rank 0."""
    from training.checkpoint import state

    state.rng_key = lambda rank: "rng_0"


def killed_while_hashing(rank: int) -> None:
    """Rank 1 is killed when the files of step 8 are written and not yet committed."""
    from training.checkpoint import hashes
    from training.checkpoint.manifest import FileEntry

    original = hashes.entry

    def entry(path: Path) -> FileEntry:
        if rank == 1 and "00000008" in str(path):
            os.kill(os.getpid(), signal.SIGKILL)
        return original(path)

    hashes.entry = entry


def killed_before_renaming(rank: int) -> None:
    """Rank 0 is killed when the manifest of step 8 is written and the directory not yet renamed."""
    from training.checkpoint import manifest

    where: Any = manifest
    original = where.flush_directory

    def flush(path: Path) -> None:
        if path.name == ".writing-step-00000008":
            os.kill(os.getpid(), signal.SIGKILL)
        original(path)

    where.flush_directory = flush


def failing_at_step_6(rank: int) -> None:
    """A bug in rank 1."""
    from training import loop

    original = loop.Trainer.step

    def step(self: loop.Trainer) -> None:
        if rank == 1 and self.position.step == 5:
            raise ZeroDivisionError("a bug of the test")
        original(self)

    loop.Trainer.step = step  # type: ignore[method-assign]  # a fake in its place


def noting_samples(rank: int) -> None:
    """Write the number of every sample a rank reads to a file of the rank."""
    from training.data import samples

    original = samples.Samples.sample_at

    def sample_at(self: samples.Samples, index: int) -> int:
        number = original(self, index)
        os.write(1, f"sample {number}\n".encode())
        return number

    samples.Samples.sample_at = sample_at  # type: ignore[method-assign]  # a fake in its place


def from_the_first_sample(rank: int) -> None:
    """Negative control: a start reads from the beginning of the data, whatever was used before."""
    from training.data import samples

    original = samples.Samples.batch
    began: list[int] = []

    def batch(self: samples.Samples, used: int, batch_size: int, rank: int) -> Any:
        began.append(used)
        return original(self, used - began[0], batch_size, rank)

    samples.Samples.batch = batch  # type: ignore[method-assign]  # a fake in its place


def without_hashes(rank: int) -> None:
    """Negative control: nothing checks the files of a checkpoint."""
    from training.checkpoint import hashes

    hashes.faults = lambda directory, manifest, names: []


def _told_to_stop_in(rank: int, owner: Any, name: str, condition: Callable[[Any], bool]) -> None:
    """Rank 1 gets SIGUSR1 when it calls a method, the first time the condition on the object holds."""
    original = getattr(owner, name)

    def wrapped(self: Any, *arguments: Any, **named: Any) -> Any:
        if rank == 1 and condition(self):
            os.kill(os.getpid(), signal.SIGUSR1)
        return original(self, *arguments, **named)

    setattr(owner, name, wrapped)


def told_to_stop_before_torch(rank: int) -> None:
    """The signal comes before the ranks know each other."""
    from training import pretrain

    original = pretrain._settings

    def settings(*arguments: Any) -> Any:
        if rank == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
        return original(*arguments)

    pretrain._settings = settings  # type: ignore[assignment]  # a fake in its place


def told_to_stop_while_loading(rank: int) -> None:
    """The signal comes when the checkpoint is looked for."""
    from training import loop

    _told_to_stop_in(rank, loop.Trainer, "_load", lambda trainer: True)


def told_to_stop_while_evaluating(rank: int) -> None:
    """The signal comes in the evaluation after step 6."""
    from training import step

    _told_to_stop_in(rank, step.Stepper, "loss", lambda stepper: not stepper.model.training and _steps() == 6)


def told_to_stop_while_saving(rank: int) -> None:
    """The signal comes in the save of step 8."""
    from training.checkpoint import saving

    _told_to_stop_in(rank, saving.Checkpoints, "save", lambda checkpoints: _steps() == 8)


def deaf_while_evaluating(rank: int) -> None:
    """Negative control: the same signal, but nobody asks between the batches."""
    from training import loop

    told_to_stop_while_evaluating(rank)
    loop.Trainer._sign_of_life = lambda self: None  # type: ignore[method-assign]  # a fake in its place


def not_a_number_on_rank_1(rank: int) -> None:
    """Rank 1's loss of step 7 is no number."""
    from training import step

    original = step.Stepper.loss

    def loss(self: step.Stepper, batch: Any) -> Any:
        found = original(self, batch)
        return found * float("nan") if rank == 1 and self.model.training and _steps() == 6 else found

    step.Stepper.loss = loss  # type: ignore[method-assign]  # a fake in its place


def unchecked_not_a_number(rank: int) -> None:
    """Negative control: the same, and nobody checks."""
    from training import reporter

    not_a_number_on_rank_1(rank)
    reporter.check_finite = lambda answer: None


def rank_1_slow(rank: int) -> None:
    """Rank 1 computes slowly: each layer takes 30 ms longer."""
    from training import loop
    from training.model.build import layers

    original = loop.Trainer.make

    def make(self: loop.Trainer) -> None:
        original(self)
        if rank == 1:
            for layer in layers(self.stepper.model):
                layer.register_forward_pre_hook(lambda module, inputs: time.sleep(0.03))

    loop.Trainer.make = make  # type: ignore[method-assign]  # a fake in its place


def answers_one_step_late(rank: int) -> None:
    """As on a GPU: what the ranks tell each other is read a step later."""
    from training.exchange import Exchange

    original = Exchange.__init__

    def late(self: Exchange, device: Any, *, late: bool) -> None:
        original(self, device, late=True)

    Exchange.__init__ = late  # type: ignore[method-assign]  # a fake in its place


def a_late_device(rank: int) -> None:
    """As on a GPU whose steps take a second, by a clock that nothing else moves: launching one takes a tenth,
    and its answer is read a step later. An evaluation and a save wait for the GPU and take ten seconds."""
    from types import SimpleNamespace

    from training import evaluate, exchange, feed, loop, saves, step

    answers_one_step_late(rank)
    now, free = [100.0], [0.0]

    class Event:
        def __init__(self) -> None:
            self.done = free[0]

        def synchronize(self) -> None:
            now[0] = max(now[0], self.done)

    def launching(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            now[0] += 0.1
            free[0] = max(now[0], free[0]) + 1.0
            return original(*arguments)

        return run

    def waiting(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            now[0] = max(now[0], free[0]) + 10.0
            return original(*arguments)

        return run

    clock: Any = SimpleNamespace(perf_counter=lambda: now[0])
    for module in (exchange, feed, loop):
        setattr(module, "time", clock)  # noqa: B010  # in these modules only
    setattr(loop, "evaluate", waiting(evaluate.evaluate))  # noqa: B010
    saves.Saves.begin = waiting(saves.Saves.begin)  # type: ignore[method-assign]  # fakes in their places
    step.Stepper.step = launching(step.Stepper.step)  # type: ignore[method-assign]
    setattr(exchange.Exchange, "_brought_back", lambda _, table: (table, Event()))  # noqa: B010


def noting_memory(rank: int) -> None:
    """Print memory in KiB, threads and children of the process after each evaluation."""
    from training import loop

    original = loop.Trainer._evaluate

    def evaluated(self: loop.Trainer, num_batches: int | None = None) -> Any:
        stop = original(self, num_batches)
        status = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
        )
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        found = [status["VmRSS"].split()[0], status["Threads"].strip(), str(len(children))]
        os.write(1, f"memory {' '.join(found)}\n".encode())
        return stop

    loop.Trainer._evaluate = evaluated  # type: ignore[method-assign]  # a fake in its place


def slow_and_killed_at_step_7(rank: int) -> None:
    """Steps take a tenth of a second, the ledger is written at once, and rank 0 is killed after step 6."""
    from training import ledger, loop

    slow_steps(rank)
    original = loop.Trainer.step

    def step(self: loop.Trainer) -> None:
        if rank == 0 and self.position.step == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        original(self)

    ledger._WRITE_SECONDS = 0.0
    loop.Trainer.step = step  # type: ignore[method-assign]  # a fake in its place


def slow_steps(rank: int) -> None:
    """Steps take a tenth of a second longer, and the rank prints when it begins and ends."""
    from training import console, step

    original, end_process = step.Stepper.loss, console.end_process

    def end(code: int) -> None:
        os.write(1, f"ends {time.time()}\n".encode())
        end_process(code)

    os.write(1, f"born {time.time()}\n".encode())
    console.end_process = end  # type: ignore[assignment]  # a fake in its place

    def loss(self: step.Stepper, batch: Any) -> Any:
        time.sleep(0.1)
        return original(self, batch)

    step.Stepper.loss = loss  # type: ignore[method-assign]  # a fake in its place


def _steps() -> int:
    """Steps this rank has finished."""
    import gc

    from training import loop

    return next(found.position.step for found in gc.get_objects() if isinstance(found, loop.Trainer))


def late_and_not_a_number(rank: int) -> None:
    """Rank 1's loss of step 7 is no number, and the ranks hear of it a step later."""
    answers_one_step_late(rank)
    not_a_number_on_rank_1(rank)


def accumulating_the_same_batch(rank: int) -> None:
    """Negative control: all batches of a step are the first one."""
    from training.data import samples

    original = samples.Samples.batch

    def batch(self: samples.Samples, used: int, batch_size: int, rank: int) -> Any:
        return original(self, used - used % 2, batch_size, rank)

    samples.Samples.batch = batch  # type: ignore[method-assign]  # a fake in its place


def stopped_at_step_6(rank: int) -> None:
    """Rank 1 is stopped, as by a debugger or a broken driver, when five steps are done."""
    from training import loop

    original = loop.Trainer.step

    def step(self: loop.Trainer) -> None:
        if rank == 1 and self.position.step == 5:
            os.kill(os.getpid(), signal.SIGSTOP)
        original(self)

    loop.Trainer.step = step  # type: ignore[method-assign]  # a fake in its place


def told_to_stop_while_waiting(rank: int) -> None:
    """Nobody writes the index; rank 1 gets SIGUSR1 when the ranks have waited three times."""
    _waiting(rank, told=1)


def missing_file_of_ours(rank: int) -> None:
    """A bug: the loop opens a file that nobody has named."""
    from training import loop

    def step(self: loop.Trainer) -> None:
        Path("/nobody/has/named/it").read_text()

    loop.Trainer.step = step  # type: ignore[method-assign]  # a fake in its place


def first_rank_told_to_stop_while_rank_1_waits(rank: int) -> None:
    """Rank 0 sees the whole index and is told to stop; rank 1 sees its first file only."""
    _waiting(rank, told=0)
    _sees_one_shard(rank)


def told_to_stop_while_only_rank_1_waits(rank: int) -> None:
    """Rank 0 sees the whole index; rank 1, which is told to stop, sees its first file only."""
    _waiting(rank, told=1)
    _sees_one_shard(rank)


def each_waiting_alone(rank: int) -> None:
    """Negative control: the same, and each rank waits for itself; what still waits long after ends with 9."""
    from training.data import waiting
    from training.together import Together

    told_to_stop_while_only_rank_1_waits(rank)
    Together.__call__ = (  # type: ignore[method-assign]  # a fake in its place
        lambda self, look, total, what: waiting.alone(look, total, what)
    )


def _sees_one_shard(rank: int) -> None:
    from training.data import shards

    original = shards.read_sound
    if rank == 1:
        shards.read_sound = lambda directory, number: original(directory, number) if number == 0 else None


def _waiting(rank: int, told: int | None) -> list[float]:
    """Waiting takes a hundredth of a second; returns the waits so far. A rank that is `told` gets SIGUSR1 in
    the third."""
    from types import SimpleNamespace

    from training import together
    from training.data import opening, waiting

    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if rank == told and len(waits) == 3:
            os.kill(os.getpid(), signal.SIGUSR1)
        if len(waits) == 100:
            os._exit(9)
        time.sleep(0.01)

    fake: Any = SimpleNamespace(sleep=sleep)
    setattr(together, "time", fake)  # noqa: B010  # in the module only
    setattr(waiting, "time", fake)  # noqa: B010  # and here
    opening.begin = lambda *_arguments: None
    return waits


def data_that_comes_late(rank: int) -> None:
    """The index has its first file only, until the ranks have waited twenty times."""
    from training.data import shards

    original, waits = shards.read_sound, _waiting(rank, told=None)
    shards.read_sound = lambda directory, number: (
        original(directory, number) if number == 0 or len(waits) >= 20 else None
    )


def noting_effects(rank: int) -> None:
    """Print the rows of each batch of an evaluation, and the gradient's norm when the optimizer steps."""
    import torch

    from training import assemble, step
    from training.optim import adamw

    loss = step.Stepper.loss

    def noting_adamw(*arguments: Any) -> Any:
        optimizer = adamw(*arguments)

        def note(optimizer: Any, *_rest: Any) -> None:
            gradients = [each.grad for group in optimizer.param_groups for each in group["params"]]
            norm: Any = torch.nn.utils.get_total_norm(gradients)
            os.write(1, f"steps with norm {norm.full_tensor().item()}\n".encode())

        optimizer.register_step_pre_hook(note)
        return optimizer

    def noting_loss(self: step.Stepper, batch: Any) -> Any:
        if not self.model.training:
            os.write(1, f"evaluates {len(batch.ids)} rows\n".encode())
        return loss(self, batch)

    setattr(assemble, "adamw", noting_adamw)  # noqa: B010  # in the module only
    step.Stepper.loss = noting_loss  # type: ignore[method-assign]  # a fake in its place


def noting_patience(rank: int) -> None:
    """Print how long the ranks wait for each other at the beginning of each step, and signs of life."""
    import torch
    import torch.distributed as dist

    from training import loop, phases

    original, beat = loop.Trainer.step, phases.Phases.beat

    def step(self: loop.Trainer) -> None:
        group: Any = dist.group.WORLD
        timeout = group._get_backend(torch.device("cpu")).options._timeout
        os.write(1, f"waits {timeout.total_seconds():.0f} s\n".encode())
        original(self)

    def noting_beat(self: phases.Phases) -> None:
        os.write(1, f"beats in {self.now}\n".encode())
        beat(self)

    loop.Trainer.step = step  # type: ignore[method-assign]  # a fake in its place
    phases.Phases.beat = noting_beat  # type: ignore[method-assign]  # a fake in its place
