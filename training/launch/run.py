"""unbroken-run: any command under the same launcher, `python -m training.launch.run [options] -- COMMAND`.

    unbroken-run --progress 'step[: ]+(\\d+)' --stall 600 -- torchrun --nproc-per-node=8 train.py

Without Slurm the command runs here. Inside a Slurm job it becomes a step with one task a node: torchrun is
told by its environment where to meet. A command that ends badly starts again, within a budget that only
progress refills; one whose progress stands still is ended and started again; the same error without progress
ends the job, and is said once. The command must go on from its own checkpoint when it is started again.

Exit codes: 0 ended well, or requeued; 1 given up; 2 could not start; 3 told to stop. Standard library only.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from training.console import EXIT_CANNOT_START, end_process
from training.launch import slurm
from training.launch.command import Command
from training.launch.foreign import ForeignStep, Patience
from training.launch.network import NetworkCheck
from training.launch.output import Progress, Reader
from training.launch.reach import OnThisMachine, UnderSlurm, adopt_orphans
from training.launch.slurm import LaunchError
from training.launch.supervisor import Supervisor, say, supervise
from training.launch.task import CALLERS_PYTHONPATH

_CODE = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Entry point."""
    options = _parser().parse_args(arguments)
    words = options.command[1:] if options.command[:1] == ["--"] else options.command
    job_id = "" if options.here else os.environ.get("SLURM_JOB_ID", "")
    try:
        progress = Progress(_pattern(options.progress), _metrics(options.metrics), say=say)
        command, left_out = _command(options, words, job_id)
    except LaunchError as error:
        print(f"unbroken-run: {error}", file=sys.stderr)
        return EXIT_CANNOT_START
    patience = Patience(options.start_stall, options.stall)
    if progress.pattern is None and progress.metrics is None:
        say("no --progress and no --metrics: a hang is not noticed, and the budget is never refilled")
        patience = Patience(0, 0)
    readers: list[Reader] = [NetworkCheck(say)] if os.environ.get("FI_PROVIDER") == "efa" else []
    step = ForeignStep(options.run_directory.absolute(), command, progress, patience, job_id, readers)
    restarts = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    supervisor = Supervisor(
        step.run_directory,
        step,
        job_id,
        requeue_on_machine_fault=left_out,
        longest_pause_seconds=options.longest_pause,
        restart_count=restarts,
    )
    return supervise(supervisor)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unbroken-run", usage="unbroken-run [options] -- COMMAND ...", allow_abbrev=False
    )
    add = parser.add_argument
    add("--progress", metavar="PATTERN", help="regular expression; its first group is the number of the step")
    add("--metrics", type=Path, metavar="FILE", help="JSON lines with `step`, in place of --progress")
    add(
        "--stall",
        type=_seconds,
        default=600.0,
        metavar="S",
        help="seconds without progress; 0: never; default: 600",
    )
    add(
        "--start-stall",
        type=_seconds,
        default=1800.0,
        metavar="S",
        help="to the first progress; default: 1800",
    )
    add(
        "--longest-pause",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="between two attempts; default: 60",
    )
    add("--run-directory", type=Path, default=Path("run"), help="where its state lies; default: run")
    slurm.add_options(parser)
    add("--here", action="store_true", help="run it here although this is a Slurm job")
    add("command", nargs=argparse.REMAINDER)
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not (math.isfinite(seconds) and seconds >= 0):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds, 0 or more")
    return seconds


def _metrics(path: Path | None) -> Path | None:
    if path is not None and path.exists() and not path.is_file():
        raise LaunchError(f"--metrics {path}: is no file", "name the file that the command writes")
    return path


def _pattern(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise LaunchError(f"--progress {text}: {error}") from None
    if pattern.groups < 1:
        raise LaunchError(f"--progress {text}: has no group", "put the number in brackets: 'step (\\d+)'")
    return pattern


def _command(options: argparse.Namespace, words: Sequence[str], job_id: str) -> tuple[Command, bool]:
    """The command, and whether auto-resume was wanted and cannot be had."""
    if not words:
        raise LaunchError("no command", "write it after --")
    if not job_id:
        if shutil.which(words[0]) is None:
            hint = "look for a slip of the pen, give the whole path, or make the file executable"
            raise LaunchError(f"{words[0]}: no such program", hint)
        adopt_orphans()
        return Command(words, OnThisMachine(), environment=_environment()), False
    slurm.refuse_frozen(words)
    line, left_out = slurm.step(options, slurm.container(options, [str(_CODE)], Path.cwd()), words)
    theirs = _environment()
    before = theirs["PYTHONPATH"]
    ours = {CALLERS_PYTHONPATH: before, "PYTHONPATH": f"{_CODE}:{before}".rstrip(":")}
    environment = {**theirs, **ours}
    return Command(line, UnderSlurm(job_id), environment=environment), left_out


def _environment() -> dict[str, str]:
    """Stacks on SIGABRT, output that is not held back in a pipe, and modules that ours do not hide."""
    paths = os.environ.get("PYTHONPATH", "").split(":")
    theirs = ":".join(path for path in paths if path and Path(path).resolve() != _CODE)
    return {"PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1", **os.environ, "PYTHONPATH": theirs}


if __name__ == "__main__":
    end_process(main())
