"""What killed rehearsals left behind, and which rehearsals were kept on purpose."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unbroken.ops.rehearse.places import Owner, process_start, read_owner
from unbroken.rehearsal.nodes.sweep import sweep_id

KILL_SECONDS = 10.0
FOLDER_SECONDS = 2.0
POLL_SECONDS = 0.05
SERVER_MODULE = "unbroken.rehearsal.server"
YOUNG_SECONDS = 30.0
"""A folder this young without an owner is one that is just being made."""

Cleaners = Sequence[Callable[[str], list[str]]]
"""Each removes one kind of trace of a rehearsal, by its id, and returns what it could not remove."""


def cleaners(whole: bool) -> list[Callable[[str], list[str]]]:
    """What removes the traces of a rehearsal by its id, beyond its state folder."""
    return [sweep_id] if whole else []


@dataclass(frozen=True)
class Found:
    """A rehearsal's state folder."""

    id: str
    state: Path
    owner: Owner | None


def rehearsals(base: Path) -> list[Found]:
    """All state folders, oldest first."""
    if not base.is_dir():
        return []
    folders = sorted((f for f in base.iterdir() if f.is_dir()), key=_changed)
    return [Found(folder.name, folder, read_owner(folder)) for folder in folders]


def kept(base: Path) -> list[Found]:
    """The rehearsals that were left up on purpose and still are, newest last."""
    return [found for found in rehearsals(base) if found.owner and found.owner.kept and found.owner.alive()]


def abandoned(base: Path, now: Callable[[], float] = time.time) -> list[Found]:
    """The rehearsals whose owner is gone."""
    return [found for found in rehearsals(base) if not _in_use(found, now())]


def _in_use(found: Found, now: float) -> bool:
    if found.owner is None:
        return now - _changed(found.state) < YOUNG_SECONDS
    return found.owner.alive()


def _changed(folder: Path) -> float:
    """When a folder was last changed; long ago where another rehearsal has just removed it."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def sweep(base: Path, cleaners: Cleaners, now: Callable[[], float] = time.time) -> list[str]:
    """Remove what abandoned rehearsals left: server, cgroups (the cleaners), folder. Returns their ids."""
    swept = []
    for found in abandoned(base, now):
        remove(found, cleaners)
        swept.append(found.id)
    return swept


def remove(found: Found, cleaners: Cleaners) -> list[str]:
    """End one rehearsal for good; safe when most of it is gone already. Returns what could not be removed."""
    end_server(found)
    left = [what for cleaner in cleaners for what in cleaner(found.id)]
    _remove_folder(found.state)
    return [*left, *([str(found.state)] if found.state.exists() else [])]


def _remove_folder(state: Path) -> None:
    """Remove it, also while the last process of a killed rehearsal still writes there."""
    deadline = time.monotonic() + FOLDER_SECONDS
    shutil.rmtree(state, ignore_errors=True)
    while state.exists() and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        shutil.rmtree(state, ignore_errors=True)


def end_server(found: Found) -> None:
    """Kill the server of a rehearsal and so all of its namespaces, if it still runs."""
    pid = server_pid(found.state)
    if pid is None:
        return
    start = process_start(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while process_start(pid) == start and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def server_pid(state: Path) -> int | None:
    """The server that was started for this state folder, found by its command line; None if it does not run.

    server.json alone is not believed: after a crash its pid may be another program's.
    """
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _serves(folder, str(state)):
            return int(folder.name)
    return None


def _serves(process: Path, state: str) -> bool:
    """Whether this process is the server itself (not the unshare before it)."""
    try:
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    return words[1:3] == ["-m", SERVER_MODULE] and state in words
