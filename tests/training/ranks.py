"""Ranks for tests: processes forked from one server that has torch loaded, so that a run takes a second.

What a test changes inside a rank is a function of faults.py, named by the test: the ranks share no memory
with it.
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
    ours = ["training.loop", "training.pretrain", "tests.training.ranks", "tests.training.faults"]
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

    `change` names a function of faults.py that runs in each rank first. `term_at` = (rank, step): SIGTERM to
    that rank once the step is done. When one rank fails, the others have ten seconds. `env` goes over the
    environment of the ranks.
    """
    processes = fork(directory, world, change, env)
    _watch(processes, directory, term_at)
    return [process.exitcode or 0 for process in processes]


def fork(
    directory: Path, world: int, change: str = "", env: Mapping[str, str] = MappingProxyType({})
) -> list[multiprocessing.process.BaseProcess]:
    """Start all ranks of the job in a directory, as `train` does, and leave them to the caller."""
    port = _free_port()
    processes: list[multiprocessing.process.BaseProcess] = [
        _CONTEXT.Process(target=_rank, args=(rank, world, port, directory, change, dict(env)))
        for rank in range(world)
    ]
    for process in processes:
        process.start()
    return processes


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
        from tests.training import faults

        getattr(faults, change)(rank)
    from training import console, pretrain

    console.end_process(pretrain.main(["--config", str(directory / "job.yaml")]))


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
