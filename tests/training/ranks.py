"""Ranks for tests: processes forked from one server that has torch loaded, so that a run takes a second.

What a test changes inside a rank (a fault, or a guarantee taken away for a negative control) is a function of
this module, named by the test: the ranks share no memory with it.
"""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.forkserver
import multiprocessing.process
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

_ROOT = Path(__file__).parents[2]
_CONTEXT = multiprocessing.get_context("forkserver")
DEADLINE_SECONDS = 100.0


def start_server() -> None:
    """Start the process that the ranks are forked from. It finds `training` by PYTHONPATH only."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(_ROOT)
    os.environ["OMP_NUM_THREADS"] = "1"
    models = [f"transformers.models.{kind}.modeling_{kind}" for kind in ("mistral", "llama")]
    ours = ["training.loop", "training.pretrain", "tests.training.ranks"]
    _CONTEXT.set_forkserver_preload([*ours, *models])
    multiprocessing.forkserver.ensure_running()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def train(
    directory: Path,
    world: int,
    change: str = "",
    *,
    term_at: tuple[int, int] | None = None,
    env: Mapping[str, str] = MappingProxyType({}),
) -> list[int]:
    """Run all ranks of the job in a directory to their end; returns their exit codes.

    `change` names a function below that runs in each rank first. `term_at` = (rank, step): SIGTERM to that
    rank once the step is done. When one rank fails, the others have ten seconds. `env` goes over the
    environment of the ranks.
    """
    port = _free_port()
    processes = [
        _CONTEXT.Process(target=_rank, args=(rank, world, port, directory, change, dict(env)))
        for rank in range(world)
    ]
    for process in processes:
        process.start()
    _watch(processes, directory, term_at)
    return [process.exitcode or 0 for process in processes]


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function, run where torch is loaded; the tests' own process does without."""
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_answer, args=(sender, function, arguments))
    process.start()
    sender.close()  # an error of the function ends the wait
    assert receiver.poll(DEADLINE_SECONDS), f"waited {DEADLINE_SECONDS:.0f} s for {function.__name__}"
    process.join()
    return receiver.recv()


def metrics(directory: Path, attempt: int = 1) -> dict[int, dict[str, Any]]:
    """Metrics of one attempt by step."""
    text = (directory / "run" / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    return {line["step"]: line for line in lines if line["attempt"] == attempt}


def numbers(directory: Path, attempt: int, first: int) -> list[tuple[int, str, str]]:
    """Step, loss and norm of the gradient to the last bit, from a step on."""
    found = metrics(directory, attempt)
    return [
        (step, found[step]["loss"].hex(), found[step]["grad_norm"].hex())
        for step in sorted(found)
        if step >= first
    ]


def log(directory: Path, rank: int = 0) -> str:
    """What a rank printed."""
    return (directory / f"rank-{rank}.log").read_text()


def _rank(rank: int, world: int, port: int, directory: Path, change: str, env: dict[str, str]) -> None:
    output = os.open(directory / f"rank-{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ |= env
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    if change:
        globals()[change](rank)
    from training import pretrain

    pretrain.end_process(pretrain.main(["--config", str(directory / "job.yaml")]))


def _watch(
    processes: Sequence[multiprocessing.process.BaseProcess],
    directory: Path,
    term_at: tuple[int, int] | None,
) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    failed = False
    while any(process.is_alive() for process in processes):
        if term_at is not None and _steps_done(directory) >= term_at[1]:
            os.kill(processes[term_at[0]].pid or 0, signal.SIGTERM)
            term_at = None
        if not failed and any(process.exitcode for process in processes):
            failed, until = True, time.monotonic() + 10
        if time.monotonic() > until:
            for process in processes:
                process.kill()
        time.sleep(0.01)
    for process in processes:
        process.join()


def _steps_done(directory: Path) -> int:
    path = directory / "run" / "metrics.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def _answer(sender: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    sender.send(function(*arguments))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# What is changed inside a rank


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
    from training.checkpoint import manifest

    original = manifest.entry

    def entry(path: Path) -> manifest.FileEntry:
        if rank == 1 and "00000008" in str(path):
            os.kill(os.getpid(), signal.SIGKILL)
        return original(path)

    manifest.entry = entry


def killed_before_renaming(rank: int) -> None:
    """Rank 0 is killed when the manifest of step 8 is written and the directory not yet renamed."""
    from training.checkpoint import manifest

    original = manifest._flush_directory

    def flush(path: Path) -> None:
        if path.name == ".writing-step-00000008":
            os.kill(os.getpid(), signal.SIGKILL)
        original(path)

    manifest._flush_directory = flush


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

    def batch(self: samples.Samples, used: int, batch_size: int, rank: int, world: int) -> Any:
        began.append(used)
        return original(self, used - began[0], batch_size, rank, world)

    samples.Samples.batch = batch  # type: ignore[method-assign]  # a fake in its place


def without_hashes(rank: int) -> None:
    """Negative control: nothing checks the files of a checkpoint."""
    from training.checkpoint import manifest

    manifest.faults = lambda directory, manifest, names: []


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

    pretrain._settings = settings


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

    original = loop.Trainer._make

    def make(self: loop.Trainer) -> None:
        original(self)
        if rank == 1:
            for layer in loop.layers(self.model):
                layer.register_forward_pre_hook(lambda module, inputs: time.sleep(0.03))

    loop.Trainer._make = make  # type: ignore[method-assign]  # a fake in its place


def answers_one_step_late(rank: int) -> None:
    """As on a GPU: what the ranks tell each other is read a step later."""
    from training import exchange, loop

    loop.Exchange = lambda device, *, late: exchange.Exchange(device, late=True)


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
    from training import pretrain, step

    original, end_process = step.Stepper.loss, pretrain.end_process

    def end(code: int) -> None:
        os.write(1, f"ends {time.time()}\n".encode())
        end_process(code)

    os.write(1, f"born {time.time()}\n".encode())
    pretrain.end_process = end

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

    def batch(self: samples.Samples, used: int, batch_size: int, rank: int, world: int) -> Any:
        return original(self, used - used % 2, batch_size, rank, world)

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
