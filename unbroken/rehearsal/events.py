"""The rehearsal's event log: one JSON object a line, appended by several processes, read by the report.

Every line has `t` (seconds since the epoch), `source`, `kind`, `subject` and `data`. The kinds are
listed in docs/reference/rehearsal-files.md; this module neither knows nor checks them, so that a new source
needs no change here.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Event:
    """One thing that happened."""

    t: float
    """Seconds since the epoch."""
    source: str
    """Who says so: rehearse, hyperpod, node, agent, fault or job."""
    kind: str
    subject: str
    """What it is about: a stage, a node, a job, a cluster."""
    data: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """The event as the line that stands for it in the file."""
        record = {"t": round(self.t, 3), "source": self.source, "kind": self.kind, "subject": self.subject}
        return json.dumps({**record, "data": self.data}, separators=(",", ":"), sort_keys=False) + "\n"


class EventLog:
    """Appends events to a file that other processes append to as well."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock

    def emit(self, source: str, kind: str, subject: str, /, **data: Any) -> Event:
        """Append one event in a single write, so that lines of different writers never mix."""
        event = Event(self._clock(), source, kind, subject, data)
        self._append(event.line().encode())
        return event

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def parse(line: str) -> Event:
    """One line as an event; ValueError for a line that is not one."""
    record = json.loads(line)
    try:
        return Event(
            float(record["t"]), record["source"], record["kind"], record["subject"], record.get("data", {})
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an event: {line.strip()[:200]}") from error


def read(path: Path) -> list[Event]:
    """All events of a file in the order of their times; none where the file does not exist.

    A last line without its newline is still being written and is left for the next read.
    """
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1]
    return sorted((parse(line) for line in whole.splitlines() if line.strip()), key=lambda event: event.t)


class Follower:
    """Reads a growing event log a piece at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def new(self) -> Iterator[Event]:
        """The events written since the last call, in the order of the file."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                chunk = file.read()
        except FileNotFoundError:
            return
        whole = chunk[: chunk.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode().splitlines():
            if line.strip():
                yield parse(line)
