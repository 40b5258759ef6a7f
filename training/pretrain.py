"""Entry point of a rank: `python -m training.pretrain --config job.yaml [key=value ...]`, started by
torchrun or training.local. Values given on the command line go over those of the job file; they are no
options, since torchrun takes for its own what abbreviates one of its options.

Exit codes: 0 trained to the end; 1 failed, the reason in run/failures/ and on stderr; 2 could not start,
because of the job file or the way it was started; 3 told to stop, by a signal or a coming deadline, and the
steps done are saved. A rank that the watchdog ends dies of SIGKILL. torchrun turns every code but 0 into 1,
so read run/run_state.json to tell them apart.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import sys
import traceback
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from training import runstate
from training.arguments import job_parser
from training.console import EXIT_CANNOT_START, EXIT_DONE, EXIT_FAILED, EXIT_STOPPED, end_process
from training.errors import JobError
from training.launch.failures import in_one_line, is_from_a_peer
from training.stop import StopWish

if TYPE_CHECKING:
    from training.attempt import Attempt
    from training.config import JobConfig


def main(arguments: list[str] | None = None) -> int:
    """Run one rank; returns its exit code."""
    wish = StopWish()
    wish.install()  # before anything that takes long: a signal would end the process, and with it the run
    faulthandler.enable()
    options = job_parser("python -m training.pretrain").parse_intermixed_args(arguments)
    if "RANK" not in os.environ or "MASTER_ADDR" not in os.environ:
        print(
            "training.pretrain: no RANK in the environment\n  hint: start it with torchrun", file=sys.stderr
        )
        return EXIT_CANNOT_START
    return _start(options.config, options.overrides, wish)


def _start(path: Path, overrides: list[str], wish: StopWish) -> int:
    """Everything that can be known to be wrong before torch is imported, and then the run."""
    from training import attempt
    from training.data.opening import begin

    try:
        config = _settings(path, overrides)
        started = attempt.begin(config, path.absolute().parent, wish)
        writing = begin(config, path, overrides, wish.made) if started.rank == 0 else None
    except (JobError, OSError) as error:
        _cannot_start(path.absolute().parent / "run", error)
        return EXIT_CANNOT_START
    code = _run(config, started)
    if writing is not None:
        writing.kill()  # it may be killed at any point
    return code


def _cannot_start(run_directory: Path, error: JobError | OSError) -> None:
    rank, text = int(os.environ["RANK"]), in_one_line(error)
    print(error if rank == 0 else f"rank {rank}: {text}", file=sys.stderr, flush=True)
    if run_directory.is_dir():  # a launcher's, which would start the same again
        with contextlib.suppress(OSError):  # perhaps just what is wrong
            runstate.write_failure(run_directory, rank, text, final=isinstance(error, JobError))


def _settings(path: Path, overrides: list[str]) -> JobConfig:
    """The job's settings. Raises JobConfigError and SinkError."""
    from training.config import load
    from training.metrics import sinks
    from training.model.shape import choose, shard_group

    config = load(path, overrides)
    choose(config, path.absolute().parent)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    shard_group(config, world, int(os.environ.get("LOCAL_WORLD_SIZE", world)))
    sinks.check(config)
    return config


def _run(config: JobConfig, attempt: Attempt) -> int:
    try:
        status = _train(config, attempt)
    except Exception as error:  # whatever it is, the launcher must learn it before the process is gone
        _record_failure(attempt, error)
        attempt.phases.end(runstate.FAILED)
        return EXIT_FAILED
    attempt.phases.end(status)
    return EXIT_DONE if status == runstate.DONE else EXIT_STOPPED


def load_libraries() -> None:
    """Import torch, transformers and what uses them, for which every restart waits.

    The garbage collector finds nothing to free in modules; without it this takes about a sixth less time.
    """
    gc.disable()
    import_module("training.loop")
    gc.freeze()
    gc.enable()


def _train(config: JobConfig, attempt: Attempt) -> str:
    if "PYTORCH_CUDA_ALLOC_CONF" not in os.environ:  # its older name
        os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")  # torch reads it at import
    load_libraries()  # only here: it takes seconds, and to find a wrong job file should not
    import torch
    import torch.distributed as dist

    from training.loop import Trainer

    device = torch.device(_device(config, torch.cuda.is_available()))
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
        timeout=timedelta(seconds=config.init_timeout_seconds),
        device_id=device if device.type == "cuda" else None,  # so that NCCL connects here, under this timeout
    )
    status = Trainer(config, device, attempt).run()
    dist.barrier()  # a rank that closes its connections early makes slower ones abort
    dist.destroy_process_group()
    return status


def _device(config: JobConfig, has_gpu: bool) -> str:
    if config.device == "auto":
        return "cuda" if has_gpu else "cpu"
    if config.device == "cuda" and not has_gpu:
        raise JobError("device: cuda is asked for, but torch finds no GPU", "set device: auto")
    return config.device


def _record_failure(attempt: Attempt, error: Exception) -> None:
    rank, text = attempt.rank, in_one_line(error)
    followed = is_from_a_peer(f"{type(error).__name__}: {error}")
    if followed:
        print(f"rank {rank}: another rank has gone ({text})", file=sys.stderr, flush=True)
    elif isinstance(error, JobError):
        print(error if rank == 0 else f"rank {rank}: {text}", file=sys.stderr, flush=True)
    else:
        traceback.print_exception(error)
    final = isinstance(error, JobError) and error.final
    runstate.write_failure(attempt.run_directory, rank, text, from_a_peer=followed, final=final)
    attempt.note(status=runstate.FAILED, reason=text)


if __name__ == "__main__":
    end_process(main())
