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
from training.compute import gpu_named
from training.config import JobConfig
from training.console import tell
from training.launch import slurm
from training.launch.slurm import LaunchError
from training.model import published
from training.model.presets import PRESETS, SCRATCH
from training.model.shape import shard_group


@dataclass(frozen=True)
class Place:
    """Where the job runs, and what starts Python as its ranks have it."""

    job_file: Path
    ranks_per_node: int
    python: Sequence[str]
    overrides: Sequence[str] = ()
    """Settings over those of the job file."""

    @property
    def directory(self) -> Path:
        """The job directory."""
        return self.job_file.absolute().parent

    @property
    def world(self) -> int:
        """Ranks of the job."""
        return int(os.environ.get("SLURM_JOB_NUM_NODES", "1")) * self.ranks_per_node

    @property
    def job(self) -> list[str]:
        """The job, as its programs are told."""
        return ["--config", str(self.job_file), *self.overrides]

    def run(self, module: str, *arguments: str) -> bool:
        """Run a program of the trainer's to its end; whether it ended well."""
        command = [*self.python, "-m", module, *arguments]
        return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0


def prepare(job: JobConfig, place: Place) -> None:
    """Fetch weights that are not there, and look at memory and data, before any rank starts.

    Raises LaunchError where the job cannot run; the reason is on stderr then, CheckpointError where its
    settings are not those it was begun with, and JobConfigError where they do not suit the number of ranks.
    A job that has saved before is not looked at further: a restart should not wait, nor end because the hub
    does not answer.
    """
    _demand_settings(job, place.directory)
    shard_group(job, place.world, place.ranks_per_node)
    if runstate.read_state(place.directory / "run").checkpoint is not None:
        return
    _fetch_weights(job, place)
    if job.device != "cpu" and not place.run("training.plan", *place.job, *_machine(place)):
        # it counts, and has not been measured on a GPU
        tell("launcher: by its plan the job does not fit; it is started all the same")
    _demand(place, "training.data.check", *place.job)


def _demand(place: Place, module: str, *arguments: str) -> None:
    if not place.run(module, *arguments):
        raise LaunchError(f"launcher: {module} found that the job cannot run; no rank was started")


def _demand_settings(job: JobConfig, directory: Path) -> None:
    """What every rank would find too. Those of a checkpoint from elsewhere are left to them."""
    if job.resume_from is None:
        root = directory / Path(job.checkpoint_directory).expanduser()
        for path in retention.committed(root).values():
            with contextlib.suppress(ValueError):  # a damaged manifest: the ranks set it aside
                manifest.read(path).demand_settings(job.shared(), path)
                return


def _fetch_weights(job: JobConfig, place: Place) -> None:
    """One process fetches what all ranks read."""
    weights = job.weights or (PRESETS[job.preset].weights if job.preset in PRESETS else SCRATCH)
    if weights == SCRATCH or weights.startswith(("/", ".", "~")):
        return
    try:
        published.find(weights, job.weights_revision, place.directory)
    except FileNotFoundError:
        revision = ["--revision", job.weights_revision] if job.weights_revision else []
        _demand(place, "training.model.published", weights, *revision)


def _machine(place: Place) -> list[str]:
    """What a plan is told: GPUs like those of this node, and the file system."""
    disk = os.statvfs(place.directory)
    gpu, memory_gib = _gpu()
    sizes = {
        "--world": place.world,
        "--gpus-per-node": place.ranks_per_node,
        "--file-system": disk.f_frsize * disk.f_blocks >> 30,
        "--gpu": gpu,
        "--gpu-memory": memory_gib,
    }
    return [word for name, size in sizes.items() if size for word in (name, str(size))]


def _gpu() -> tuple[str | None, int]:
    """The first GPU by its name in training/compute.py, and its GiB of memory; None and 0 where not known."""
    query = "--query-gpu=name,memory.total"
    try:
        said = slurm.ask(["nvidia-smi", query, "--format=csv,noheader,nounits"])
        name, _, mib = said.splitlines()[0].rpartition(",")
        return gpu_named(name), round(int(mib) / 1024)
    except (LaunchError, ValueError, IndexError):
        return None, 0
