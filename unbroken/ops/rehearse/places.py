"""Where a rehearsal keeps its files: one state folder per rehearsal, one output folder for the user."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from unbroken.ops.errors import CannotRun

KEPT_RECORD = "kept.json"
"""What the verbs on a kept rehearsal need to know, in its state folder."""
RESULTS = ("report.html", "report.json", "events.jsonl", "metrics.jsonl")
"""What a rehearsal writes into its output folder, beside the logs."""
_SYSTEM_BASE = Path("/var/lib/unbroken/rehearsals")


def base_folder(env: Mapping[str, str] = os.environ) -> Path:
    """The folder of all rehearsals of this user; UNBROKEN_STATE overrides it."""
    if env.get("UNBROKEN_STATE"):
        return Path(env["UNBROKEN_STATE"])
    if os.geteuid() == 0:
        return _SYSTEM_BASE
    home = Path(env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home / "unbroken" / "rehearsals"


def process_start(pid: int) -> str:
    """What tells this process from a later one of the same number; empty if it does not run."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]


@dataclass(frozen=True)
class Owner:
    """The process a rehearsal belongs to; a kept one belongs to its server."""

    pid: int
    start: str
    kept: bool = False

    @classmethod
    def process(cls, pid: int, kept: bool = False) -> Owner:
        """The owner that is this process."""
        return cls(pid, process_start(pid), kept)

    def alive(self) -> bool:
        """Whether that very process still runs."""
        return process_start(self.pid) == self.start != ""


@dataclass(frozen=True)
class Places:
    """The files of one rehearsal. `state` is removed at its end, `out` is the user's."""

    id: str
    state: Path
    out: Path

    @property
    def events(self) -> Path:
        """What happened, read by the report."""
        return self.state / "events.jsonl"

    @property
    def cdk_out(self) -> Path:
        """The cloud assembly of this run; never shared, so that two runs do not collide."""
        return self.state / "cdk.out"

    @property
    def cluster_file(self) -> Path:
        """The cluster file as rehearsed, where that differs from the user's."""
        return self.state / "cluster.yaml"

    @property
    def owner_file(self) -> Path:
        """Who this state folder belongs to."""
        return self.state / "owner.json"

    def log(self, name: str) -> Path:
        """The log of one part; it is kept in the output folder."""
        return self.out / "logs" / f"{name}.log"

    def write_owner(self, owner: Owner) -> None:
        """Say who this folder belongs to."""
        temporary = self.owner_file.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(owner)))
        temporary.rename(self.owner_file)


def read_owner(state: Path) -> Owner | None:
    """Who a state folder belongs to; None if it does not say."""
    try:
        return Owner(**json.loads((state / "owner.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def create(out: Path, base: Path) -> Places:
    """A state folder of a new id, owned by this process; CannotRun names a folder that cannot be written."""
    identity = f"{time.strftime('%m%d%H%M%S')}-{secrets.token_hex(2)}"
    places = Places(identity, base / identity, out.resolve())
    with removed_on_failure(places.state):
        base.mkdir(parents=True, exist_ok=True)
        places.state.mkdir(mode=0o755)
        places.write_owner(Owner.process(os.getpid()))
        # What the run before wrote would be read as this one's.
        shutil.rmtree(places.out / "logs", ignore_errors=True)
        for name in RESULTS:
            (places.out / name).unlink(missing_ok=True)
        (places.out / "logs").mkdir(parents=True)
    return places


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Hold an output folder, made where it is missing; CannotRun where another rehearsal writes there.

    The kernel lets go of it when this process ends, however it ends.
    """
    handle = _hold(out)
    try:
        yield
    finally:
        os.close(handle)


def _hold(out: Path) -> int:
    """A handle of the folder with a lock on it, which is gone when the handle is."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out, os.O_RDONLY)
    except OSError as error:
        raise CannotRun(f"{error.filename}: {error.strerror}", "pass another --out DIR") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        way_out = "wait until it has ended, or pass another --out DIR"
        raise CannotRun(f"another rehearsal is writing to {out}", way_out) from error
    return handle


@contextmanager
def removed_on_failure(state: Path) -> Iterator[None]:
    """Inside, a failure leaves no state folder; CannotRun names a file that could not be written."""
    try:
        yield
    except OSError as error:
        shutil.rmtree(state, ignore_errors=True)
        raise CannotRun(
            f"{error.filename or state}: {error.strerror or error}",
            "free some space, or pass another --out DIR",
        ) from error
    except BaseException:
        shutil.rmtree(state, ignore_errors=True)
        raise
