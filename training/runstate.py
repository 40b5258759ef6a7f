"""The files of a run directory that programs outside the ranks read: run_state.json, metrics.jsonl,
failures/.

Standard library only, since the launcher uses it too. run_state.json is replaced whole, never half written.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from training.console import tell
from training.errors import JobError
from training.files import replace_text
from training.launch.failures import may_be_from_a_peer

SCHEMA_VERSION = 1
STARTING, RUNNING, DONE, PREEMPTED, FAILED = "starting", "running", "done", "preempted", "failed"

T = TypeVar("T")
_troubled: set[Path] = set()
"""Files that lines were lost of; said once each."""


class StateError(JobError):
    """A file that this program wrote earlier and cannot read; the message is for a person."""


@dataclass(frozen=True, kw_only=True)
class RunState:
    """Where a run stands. Written by the launcher before a start and by rank 0 afterwards."""

    status: str
    """starting, running, done, preempted (told to stop, saved and left) or failed."""
    step: int = 0
    """Steps finished and saved: what a restart goes on from."""
    checkpoint: str | None = None
    """Directory name of the newest committed checkpoint."""
    reason: str = ""
    """Why it stopped, for preempted and failed."""
    stopped_by: str = ""
    """What made a preempted run leave: signal, time limit (of the Slurm job) or stop_at (the setting)."""
    job_id: str = ""
    attempt: int = 0
    """Counts the starts of the ranks in this run directory, from 1."""
    schema_version: int = SCHEMA_VERSION


def read_state(run_directory: Path) -> RunState:
    """The state on disk; a fresh one where there is none. Raises StateError."""
    path = run_directory / "run_state.json"
    state = read_record(path, RunState)
    if state is not None and state.schema_version != SCHEMA_VERSION:
        raise StateError(f"{path}: not of schema_version {SCHEMA_VERSION}")
    return state or RunState(status=STARTING)


def read_record(path: Path, kind: type[T]) -> T | None:
    """A dataclass from its JSON file; None where there is none. Raises StateError for anything else."""
    try:
        return kind(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        hint = "move it away, and the run goes on from its checkpoints"
        raise StateError(f"{path}: cannot be read: {error}", hint) from None


def write_state(run_directory: Path, state: RunState) -> None:
    """Replace run_state.json in one move."""
    replace_text(run_directory / "run_state.json", json.dumps(asdict(state)) + "\n")


def append_line(path: Path, content: dict[str, Any]) -> None:
    """Add one JSON line in a single write. A full disk costs the line and not the run; it is said once."""
    try:
        if path in _troubled:
            end_last_line(path)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(content) + "\n")
    except OSError as error:
        if path not in _troubled:
            _troubled.add(path)
            tell(f"{path}: {error.strerror}; lines are missing from here on")


def end_last_line(path: Path) -> None:
    """End a line that a kill or a full disk cut short, so that the next one is not lost with it."""
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def write_failure(
    run_directory: Path, rank: int, error: str, *, from_a_peer: bool = False, final: bool = False
) -> None:
    """Record why a rank dies. `from_a_peer`: it only noticed that another rank had gone. `final`: each other
    start would end so too."""
    record = {"t": time.time(), "rank": rank, "error": error, "from_a_peer": from_a_peer, "final": final}
    replace_text(run_directory / "failures" / f"rank-{rank}.json", json.dumps(record) + "\n")


def clear_failures(run_directory: Path) -> None:
    """Forget the failures of earlier starts."""
    for path in (run_directory / "failures").glob("rank-*.json"):
        path.unlink(missing_ok=True)


def first_failure(run_directory: Path) -> str | None:
    """The error that came first, leaving out those that only followed from another rank's end.

    What may have followed from one counts where no rank has an error of its own.
    """
    own = [record for record in _failures(run_directory) if not record["from_a_peer"]]
    first = min(own, key=lambda record: (may_be_from_a_peer(record["error"]), record["t"]), default=None)
    return str(first["error"]) if first else None


def final_failure(run_directory: Path) -> str | None:
    """The error that each other start would end with, if a rank has met one."""
    return next((str(each["error"]) for each in _failures(run_directory) if each["final"]), None)


def _failures(run_directory: Path) -> list[dict[str, Any]]:
    paths = (run_directory / "failures").glob("rank-*")
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]
