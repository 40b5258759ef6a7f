"""A rank's part of being watched: it beats, writes its stacks; the node's first starts the watchdog."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from training.watch.evidence import NCCL_PIPE, STACKS_SIGNAL
from training.watch.heartbeat import Heart, heartbeats_of, stacks_file

_POLL_SECONDS = 1.0


def begin(run_directory: Path, environment: MutableMapping[str, str], hang_seconds: int) -> Heart:
    """Open this rank's heart and see that a watchdog watches it. `environment` is the process's own."""
    rank = int(environment["RANK"])
    heartbeats = heartbeats_of(run_directory, environment.get("MASTER_PORT", ""))
    heart = Heart(heartbeats, rank)
    _write_stacks_when_asked(stacks_file(heartbeats, rank))
    _prepare_flight_recorder(environment, heartbeats, run_directory)
    if environment.get("LOCAL_RANK", "0") == "0":
        _start_watchdog(heartbeats, run_directory, min(_POLL_SECONDS, hang_seconds / 10))
    return heart


def _write_stacks_when_asked(path: Path) -> None:
    # the file is kept open for as long as the process lives: the handler writes to its descriptor
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    faulthandler.register(STACKS_SIGNAL, file=file, all_threads=True)


def _prepare_flight_recorder(environment: MutableMapping[str, str], heartbeats: Path, run: Path) -> None:
    """Have torch record its NCCL collectives and write the record when asked; read when NCCL starts.

    Not tried: there was no GPU to try it on.
    """
    (run / "stacks").mkdir(parents=True, exist_ok=True)
    environment.setdefault("TORCH_NCCL_DUMP_ON_TIMEOUT", "1")
    environment.setdefault("TORCH_FR_DUMP_TEMP_FILE", str(run / "stacks" / "nccl-rank-"))
    environment.setdefault("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", str(run / "stacks" / "nccl-rank-"))
    environment.setdefault("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", str(heartbeats / NCCL_PIPE))


def _start_watchdog(heartbeats: Path, run_directory: Path, poll_seconds: float) -> None:
    # -S -E: it needs none of the installed packages, and starts in a third of the time without them
    command = [sys.executable, "-S", "-E", "-m", "training.watch.watchdog"]
    options = {"--heartbeats": heartbeats, "--run-directory": run_directory, "--poll-seconds": poll_seconds}
    subprocess.Popen(
        [*command, *(str(part) for pair in options.items() for part in pair)],
        cwd=Path(__file__).parents[2],
        env=_plain(os.environ),
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # signals for the ranks are not for it
    )


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
