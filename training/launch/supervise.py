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
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from training import config
from training.console import EXIT_CANNOT_START, end_process
from training.errors import JobError
from training.launch import slurm
from training.launch.command import Command
from training.launch.network import NetworkCheck
from training.launch.prepare import Place, prepare
from training.launch.reach import UnderSlurm
from training.launch.slurm import Container
from training.launch.supervisor import Supervisor, say, supervise


@dataclass(frozen=True)
class Asked:
    """What the batch script asks for."""

    job_file: Path
    ranks_per_node: int
    auto_resume: bool = True
    python: str = slurm.INTERPRETER
    """The interpreter of the ranks; inside the container where there is one."""
    container_image: str | None = None
    container_mounts: tuple[str, ...] = ()
    stop_on_sockets: bool = False

    @property
    def directory(self) -> Path:
        """The job directory."""
        return self.job_file.absolute().parent

    def command(self) -> list[str]:
        """What every node runs once it knows where to meet."""
        trainer = ["-m", "training.pretrain", "--config", str(self.job_file)]
        return [self.python, "-m", "torch.distributed.run", *trainer]


def main(arguments: list[str] | None = None) -> int:
    """Entry point of job.sbatch; runs in the job directory."""
    asked = _asked(arguments)
    job_id = os.environ.get("SLURM_JOB_ID", "")
    resume = slurm.HYPERPOD_MARKER.is_dir() and asked.auto_resume
    try:
        job = config.load(asked.job_file)  # a wrong job file is said once, here, and not by every rank
        container = container_of(asked, job)
        options = slurm.srun_options(resume, container, slurm.ask)
        inside = ["srun", "-N1", "-n1", *container.options()] if container else []
        prepare(job, Place(asked.job_file, asked.ranks_per_node, [*inside, asked.python]))
    except JobError as error:
        print(error, file=sys.stderr)
        return EXIT_CANNOT_START
    left_out = resume and "--auto-resume=1" not in options
    if left_out:
        say("srun takes no --auto-resume with a container here: a machine's fault queues the job again")
    step = _step(
        asked, [*options, *slurm.task_command(asked.python, asked.ranks_per_node, asked.command())], job_id
    )
    restarts = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    run = asked.directory / "run"
    return supervise(Supervisor(run, step, job_id, requeue_on_machine_fault=left_out, restart_count=restarts))


def container_of(asked: Asked, job: config.JobConfig) -> Container | None:
    """The container with all that the job reads and writes. Raises LaunchError for a path unknown inside."""
    if asked.container_image is None:
        return None
    # weights and tokenizers lie here; inside, the home may be another one
    cache = Path(os.environ.setdefault("HF_HOME", str(Path("~/.cache/huggingface").expanduser())))
    cache.mkdir(parents=True, exist_ok=True)
    code = os.environ.get("PYTHONPATH", "").split(":")[0]
    paths = [str(asked.directory), str(cache), *([code] if code else []), *paths_of(job)]
    mounts = slurm.mounts_for(paths, asked.container_mounts)
    return Container(image=asked.container_image, mounts=mounts, directory=asked.directory)


def paths_of(job: config.JobConfig) -> list[str]:
    """The settings that name a place outside the job directory. `~` is another place in a container."""
    texts = [value for value in asdict(job).values() if isinstance(value, str)]
    return [text for text in texts if text.startswith(("/", "~"))]


def _step(asked: Asked, srun: Iterable[str], job_id: str) -> Command:
    network = NetworkCheck(say)
    step = Command(["srun", *srun], UnderSlurm(job_id))
    if os.environ.get("FI_PROVIDER") == "efa":
        step.readers.append(network)
    if asked.stop_on_sockets:
        step.complaint = lambda: network.complaint() if "sockets" in network.seen else None
    return step


def _asked(arguments: list[str] | None) -> Asked:
    parser = argparse.ArgumentParser(prog="python -m training.launch.supervise")
    parser.add_argument("--job-file", type=Path, required=True)
    parser.add_argument("--ranks-per-node", type=int, required=True)
    slurm.add_options(parser)
    parser.add_argument(
        "--stop-on-sockets", action="store_true", help="end a step whose NCCL does not use EFA"
    )
    options = parser.parse_args(arguments)
    return Asked(
        job_file=options.job_file,
        ranks_per_node=options.ranks_per_node,
        auto_resume=not options.no_auto_resume,
        python=options.container_python if options.container_image else slurm.INTERPRETER,
        container_image=options.container_image,
        container_mounts=tuple(options.container_mount),
        stop_on_sockets=options.stop_on_sockets,
    )


if __name__ == "__main__":
    end_process(main())
