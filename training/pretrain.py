"""Entry point of a rank: `python -m training.pretrain --config job.yaml [key=value ...]`, started by
torchrun or training.local. Values given on the command line go over those of the job file; they are no
options, since torchrun takes for its own what abbreviates one of its options.

Exit codes: 0 trained to the end; 1 failed, the reason in run/failures/ and on stderr; 2 could not start,
because of the job file or the way it was started; 3 told to stop by a signal, and a checkpoint of that step
is saved. torchrun turns every code but 0 into 1, so read run/run_state.json to tell them apart.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from training import runstate
from training.config import JobConfig, JobConfigError, load
from training.data.errors import DataError
from training.data.opening import begin
from training.model.shape import choose
from training.runstate import RunState

EXIT_DONE, EXIT_FAILED, EXIT_CANNOT_START, EXIT_PREEMPTED = 0, 1, 2, 3
# by name, since their modules import torch or NumPy: mistakes a person can correct, said without a traceback
_FOR_A_PERSON = ("CheckpointError", "DataError", "TooLittleText", "FileNotFoundError")


def main(arguments: list[str] | None = None) -> int:
    """Run one rank; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m training.pretrain")
    parser.add_argument("--config", type=Path, required=True, help="the job file, job.yaml")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="a setting in place of the file's")
    options = parser.parse_args(arguments)
    path: Path = options.config
    try:
        config = load(path, options.overrides)
        choose(config, path.absolute().parent)
    except JobConfigError as error:
        print(error, file=sys.stderr)
        return EXIT_CANNOT_START
    if "RANK" not in os.environ or "MASTER_ADDR" not in os.environ:
        print(
            "training.pretrain: no RANK in the environment\n  hint: start it with torchrun", file=sys.stderr
        )
        return EXIT_CANNOT_START
    try:
        writing = begin(config, path, options.overrides) if os.environ["RANK"] == "0" else None
    except DataError as error:
        print(error, file=sys.stderr)
        return EXIT_CANNOT_START
    code = _run(config, path.absolute().parent)
    if writing is not None:
        writing.kill()  # it may be killed at any point
    return code


def _run(config: JobConfig, directory: Path) -> int:
    rank = int(os.environ["RANK"])
    (directory / "run").mkdir(parents=True, exist_ok=True)
    try:
        status = _train(config, directory)
    except Exception as error:  # whatever it is, the launcher must learn it before the process is gone
        _record_failure(directory / "run", rank, error)
        return EXIT_FAILED
    return EXIT_DONE if status == runstate.DONE else EXIT_PREEMPTED


def _train(config: JobConfig, directory: Path) -> str:
    # Imported here: torch takes seconds, and a wrong job file should not. The garbage collector finds nothing
    # to free in modules; without it the imports, for which every restart waits, take about a sixth less time.
    gc.disable()
    import torch
    import torch.distributed as dist

    from training.loop import Trainer

    gc.freeze()
    gc.enable()
    device = _device(config, torch.cuda.is_available())
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo",
        timeout=timedelta(seconds=config.init_timeout_seconds),
    )
    trainer = Trainer(config, directory, torch.device(device), os.environ.get("SLURM_JOB_ID", ""))
    status = trainer.run()
    dist.barrier()  # a rank that closes its connections early makes slower ones abort
    dist.destroy_process_group()
    return status


def _device(config: JobConfig, has_gpu: bool) -> str:
    if config.device == "auto":
        return "cuda" if has_gpu else "cpu"
    if config.device == "cuda" and not has_gpu:
        raise RuntimeError("device: cuda is asked for, but torch finds no GPU")
    return config.device


def _record_failure(run_directory: Path, rank: int, error: Exception) -> None:
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    followed = _from_a_peer(error)
    if followed:
        print(f"rank {rank}: another rank has gone ({text[:100]})", file=sys.stderr, flush=True)
    elif type(error).__name__ in _FOR_A_PERSON:
        print(error if rank == 0 else f"rank {rank}: {text}", file=sys.stderr, flush=True)
    else:
        traceback.print_exception(error)
    runstate.write_failure(run_directory, rank, text, from_a_peer=followed)
    if rank == 0:
        before = runstate.read_state(run_directory)
        failed = RunState(
            status=runstate.FAILED,
            step=before.step,
            checkpoint=before.checkpoint,
            reason=text,
            job_id=before.job_id,
            attempt=before.attempt,
        )
        runstate.write_state(run_directory, failed)


def _from_a_peer(error: Exception) -> bool:
    """Whether this rank only noticed that another one had gone."""
    signs = ("DistNetworkError", "DistBackendError", "Connection closed by peer", "Connection reset by peer")
    return any(sign in f"{type(error).__name__}: {error}" for sign in signs)


def end_process(code: int) -> NoReturn:
    """Leave without Python's and torch's tear-down.

    Threads of the process group may still run then, and abort the process ("terminate called without an
    active exception", seen once in a run of four ranks): a finished job would look like a failed one.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    end_process(main())
