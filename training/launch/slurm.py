"""The line that starts a job step: HyperPod's auto-resume where that is, and a container where one is wanted.

Nothing on it names a node or a port, since a retried step runs it again word for word. Standard library only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.errors import JobError

HYPERPOD_MARKER = Path("/opt/sagemaker_cluster")
_FROZEN = (
    "--master-addr",
    "--master_addr",
    "--rdzv-endpoint",
    "--rdzv_endpoint",
    "--node-rank",
    "--node_rank",
)


class LaunchError(JobError):
    """The job cannot be started as it is asked for; the message is for a person."""


@dataclass(frozen=True, kw_only=True)
class Container:
    """An image that the tasks run in, by NVIDIA's Pyxis."""

    image: str
    mounts: tuple[str, ...] = ()
    """Folders that must be there inside too, at the same place, or `/outside:/inside`."""
    directory: Path

    def options(self) -> list[str]:
        """What srun is told."""
        mounts = ",".join(mount if ":" in mount else f"{mount}:{mount}" for mount in self.mounts)
        given = [f"--container-image={self.image}", f"--container-workdir={self.directory}"]
        return [*given, *([f"--container-mounts={mounts}"] if mounts else [])]


def add_options(parser: argparse.ArgumentParser) -> None:
    """What a launcher is told of its step."""
    group = parser.add_argument_group("under Slurm")
    group.add_argument("--ranks-per-node", type=_count, default=1, help="for torchrun; default: 1")
    group.add_argument("--no-auto-resume", action="store_true", help="plain srun, also on HyperPod")
    group.add_argument("--container-image", help="image for Pyxis, or the path of a squashfs file")
    group.add_argument("--container-mount", action="append", default=[], metavar="/outside:/inside")
    group.add_argument("--container-python", default="python3", help="interpreter inside the image")


def container(options: argparse.Namespace, paths: Iterable[str], directory: Path) -> Container | None:
    """The container asked for, with these paths inside. Raises LaunchError for one unknown inside."""
    if not options.container_image:
        return None
    mounts = mounts_for([str(directory), *paths], options.container_mount)
    return Container(image=options.container_image, mounts=mounts, directory=directory)


def interpreter(options: argparse.Namespace) -> str:
    """What runs Python in a task."""
    return str(options.container_python) if options.container_image else sys.executable


def step(
    options: argparse.Namespace, inside: Container | None, command: Sequence[str]
) -> tuple[list[str], bool]:
    """The line of a step that runs a command, and whether auto-resume was wanted and cannot be had."""
    resume = HYPERPOD_MARKER.is_dir() and not options.no_auto_resume
    given = srun_options(resume, inside, ask)
    writable = [inside.directory] if inside else []
    task = task_command(interpreter(options), options.ranks_per_node, command, writable)
    return ["srun", *given, *task], resume and "--auto-resume=1" not in given


def mounts_for(paths: Iterable[str], more: Sequence[str]) -> tuple[str, ...]:
    """The folders a container needs for these paths, each once; `more` are the user's own.

    A path that is not there yet is made inside the nearest folder that is. Raises LaunchError for a path that
    means something else inside.
    """
    for path in [*paths, *(part for mount in more for part in mount.split(":")[:2])]:
        if not path.startswith("/"):
            what = "a relative path means another folder inside a container"
            raise LaunchError(f"{path}: {what}", "give the whole path")
    wanted = sorted({str(_existing(Path(path))) for path in paths})
    outer = [path for path in wanted if not any(_is_below(path, other) for other in wanted)]
    return (*outer, *(mount for mount in more if mount not in outer))


def srun_options(
    auto_resume: bool, container: Container | None, run: Callable[[Sequence[str]], str]
) -> list[str]:
    """Options of srun for a step; `run` starts a command and returns what it says.

    Where Pyxis and auto-resume exclude each other (seen on some HyperPod images) auto-resume is left out, and
    the supervisor queues the job again instead. Raises LaunchError where srun knows no containers at all.
    """
    resume = ["--auto-resume=1"] if auto_resume else []
    if container is None:
        return [*resume, *_ALWAYS]
    if resume and _takes([*resume, *container.options()], run):
        return [*resume, *_ALWAYS, *container.options()]
    if not _takes(container.options(), run):
        hint = "install Pyxis on the nodes, or leave container_image out"
        raise LaunchError("srun has no option --container-image", hint)
    return [*_ALWAYS, *container.options()]


def task_command(
    python: str, ranks_per_node: int, command: Sequence[str], writable: Iterable[Path] = ()
) -> list[str]:
    """What each node runs: look for folders and a meeting place, then become the command."""
    folders = [f"--writable={folder}" for folder in writable]
    options = ["--ranks-per-node", str(ranks_per_node), *folders]
    return [python, "-m", "training.launch.task", *options, "--", *command]


def refuse_frozen(command: Sequence[str]) -> None:
    """Raise LaunchError for a command that names its meeting place: with that node the job would be lost."""
    for word in command:
        name = word.partition("=")[0]
        if name in _FROZEN or name == "--standalone":
            hint = "leave it out; each node learns where to meet when it starts, from PET_* and MASTER_ADDR"
            raise LaunchError(f"{word}: is fixed when the job starts, and that node may be lost", hint)


def ask(command: Sequence[str]) -> str:
    """Both outputs of a command that ends by itself. Raises LaunchError for one that is missing or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        hint = "look at the node: a daemon or a driver hangs"
        raise LaunchError(f"{command[0]}: no answer in {_ASK_SECONDS} s", hint) from None
    except OSError as error:
        raise LaunchError(f"{command[0]}: {error.strerror}", "install it, or add it to PATH") from None
    return done.stdout + done.stderr


_ALWAYS = ("-l", "--kill-on-bad-exit=1")
_ASK_SECONDS = 60


def _count(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return int(text)


def _takes(options: Sequence[str], run: Callable[[Sequence[str]], str]) -> bool:
    """Whether srun knows all of the options; with --help it starts nothing."""
    return "unrecognized option" not in run(["srun", *options, "--help"])


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above that is there; a file's folder."""
    while not path.is_dir():
        path = path.parent
    if path == Path("/"):
        raise LaunchError(f"{path}: cannot be mounted into a container whole", "make the folder first")
    return path


def _is_below(path: str, other: str) -> bool:
    return path.startswith(f"{other}/")
