"""The batch script's body for the trainer: looks at the job once, then starts its step within the budget.

On HyperPod `srun --auto-resume=1` itself retries a step whose node is bad; the supervisor owns the case where
no hardware was at fault (ResumeAction=NONE) and every failure elsewhere. Slurm owns the requeue after a
lost batch host; the supervisor asks for one at the job's time limit, and for a machine's fault where
auto-resume is wanted and srun does not have it. No torch here.

Exit codes: 0 trained to the end, or requeued; 1 given up; 2 could not start; 3 told to stop, and saved.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict
from pathlib import Path

from training import config
from training.arguments import job_parser
from training.console import EXIT_CANNOT_START, end_process
from training.errors import JobError
from training.launch import slurm
from training.launch.command import Command
from training.launch.network import NetworkCheck
from training.launch.prepare import Place, prepare
from training.launch.reach import UnderSlurm
from training.launch.slurm import Container
from training.launch.supervisor import Supervisor, say, supervise


def main(arguments: list[str] | None = None) -> int:
    """Entry point of job.sbatch; runs in the job directory."""
    options = _parser().parse_intermixed_args(arguments)
    directory = options.config.absolute().parent
    job_id = os.environ.get("SLURM_JOB_ID", "")
    try:
        # a wrong job file is said once, here, and not by every rank
        job = config.load(options.config, options.overrides)
        inside = slurm.container(options, _paths(options, job), directory)
        line, left_out = slurm.step(options, inside, _trainer(options))
        prepare(job, _place(options, inside))
    except JobError as error:
        print(error, file=sys.stderr)
        return EXIT_CANNOT_START
    step = _step(options, line, job_id)
    restarts = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    run = directory / "run"
    return supervise(Supervisor(run, step, job_id, requeue_on_machine_fault=left_out, restart_count=restarts))


def _parser() -> argparse.ArgumentParser:
    parser = job_parser("python -m training.launch.supervise")
    slurm.add_options(parser)
    stop = "end a step whose NCCL does not use EFA"
    parser.add_argument("--stop-on-sockets", action="store_true", help=stop)
    return parser


def _trainer(options: argparse.Namespace) -> list[str]:
    """What every node runs once it knows where to meet."""
    trainer = ["training.pretrain", "--config", str(options.config), *options.overrides]
    return [slurm.interpreter(options), "-m", "torch.distributed.run", "-m", *trainer]


def _place(options: argparse.Namespace, inside: Container | None) -> Place:
    entered = ["srun", "-N1", "-n1", *inside.options()] if inside else []
    python = [*entered, slurm.interpreter(options)]
    return Place(options.config, options.ranks_per_node, python, options.overrides)


def _paths(options: argparse.Namespace, job: config.JobConfig) -> list[str]:
    """All that the job reads and writes, where a container must have it."""
    if not options.container_image:
        return []
    # weights and tokenizers lie here; inside, the home may be another one
    cache = Path(os.environ.setdefault("HF_HOME", str(Path("~/.cache/huggingface").expanduser())))
    cache.mkdir(parents=True, exist_ok=True)
    code = os.environ.get("PYTHONPATH", "").split(":")[0]
    return [str(cache), *([code] if code else []), *paths_of(job)]


def paths_of(job: config.JobConfig) -> list[str]:
    """The settings that name a place outside the job directory. `~` is another place in a container."""
    texts = [value for value in asdict(job).values() if isinstance(value, str)]
    return [text for text in texts if text.startswith(("/", "~"))]


def _step(options: argparse.Namespace, line: list[str], job_id: str) -> Command:
    network = NetworkCheck(say)
    step = Command(line, UnderSlurm(job_id))
    if os.environ.get("FI_PROVIDER") == "efa":
        step.readers.append(network)
    if options.stop_on_sockets:
        step.complaint = lambda: network.complaint() if "sockets" in network.seen else None
    return step


if __name__ == "__main__":
    end_process(main())
