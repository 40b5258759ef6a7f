"""What is done once before any rank starts: weights fetched, memory and data looked at.

Each is a program of the trainer's own, run by the ranks' interpreter; no torch here.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training import runstate
from training.checkpoint import manifest, retention
from training.config import JobConfig
from training.launch import slurm
from training.launch.slurm import LaunchError
from training.model import published
from training.model.presets import PRESETS, SCRATCH


@dataclass(frozen=True)
class Place:
    """Where the job runs, and what starts Python as its ranks have it."""

    job_file: Path
    ranks_per_node: int
    python: Sequence[str]

    @property
    def directory(self) -> Path:
        """The job directory."""
        return self.job_file.absolute().parent


def prepare(job: JobConfig, place: Place) -> None:
    """Fetch weights that are not there, and look at memory and data, before any rank starts.

    Raises LaunchError where the job cannot run; the reason is on stderr then, and CheckpointError where its
    settings are not those it was begun with. A job that has saved before is not looked at further: a restart
    should not wait, nor end because the hub does not answer.
    """
    _demand_settings(job, place.directory)
    if runstate.read_state(place.directory / "run").checkpoint is not None:
        return
    for module, *arguments in [*_missing_weights(job, place), *_plan(job, place), _data(place)]:
        command = [*place.python, "-m", module, *arguments]
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode != 0:
            raise LaunchError(f"launcher: {module} found that the job cannot run; no rank was started")


def _demand_settings(job: JobConfig, directory: Path) -> None:
    """What every rank would find too. Those of a checkpoint from elsewhere are left to them."""
    if job.resume_from is None:
        root = directory / Path(job.checkpoint_directory).expanduser()
        for path in retention.committed(root).values():
            with contextlib.suppress(ValueError):  # a damaged manifest: the ranks set it aside
                manifest.read(path).demand_settings(job.shared(), path)
                return


def _missing_weights(job: JobConfig, place: Place) -> list[list[str]]:
    """One process fetches what all ranks read."""
    weights = job.weights or (PRESETS[job.preset].weights if job.preset in PRESETS else SCRATCH)
    if weights == SCRATCH or weights.startswith(("/", ".", "~")):
        return []
    try:
        published.find(weights, job.weights_revision, place.directory)
    except FileNotFoundError:
        revision = ["--revision", job.weights_revision] if job.weights_revision else []
        return [["training.model.published", weights, *revision]]
    return []


def _plan(job: JobConfig, place: Place) -> list[list[str]]:
    """Whether it fits the GPUs of this node, which are those of the others, and the file system."""
    if job.device == "cpu":
        return []
    world = int(os.environ.get("SLURM_JOB_NUM_NODES", "1")) * place.ranks_per_node
    disk = os.statvfs(place.directory)
    sizes = {
        "--world": world,
        "--gpus-per-node": place.ranks_per_node,
        "--file-system": disk.f_frsize * disk.f_blocks >> 30,
        "--gpu-memory": _gpu_memory_gib(),
    }
    given = [word for name, size in sizes.items() if size for word in (name, str(size))]
    return [["training.plan", "--config", str(place.job_file), *given]]


def _data(place: Place) -> list[str]:
    return ["training.data.check", "--config", str(place.job_file)]


def _gpu_memory_gib() -> int:
    """Memory of the first GPU; 0 where nobody says."""
    try:
        said = slurm.ask(["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"])
        return round(int(said.splitlines()[0]) / 1024)
    except (OSError, ValueError, IndexError):
        return 0
