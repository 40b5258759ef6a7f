"""The provisioning log: one JSON object a line, secrets struck out, each line flushed as it is written."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from datetime import datetime, timezone
from typing import TextIO

from unbroken_node.errors import EXIT_FAILED, NodeError
from unbroken_node.host import Host


class StepFailed(Exception):
    """A step failed and its line, the last of the log, is written."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


class Journal:
    """Writes a line for each step: name, start, end, seconds, result, and the reason of a failure."""

    def __init__(self, host: Host, stream: TextIO | None = None) -> None:
        self._host = host
        self._stream = stream or sys.stdout

    def record(self, name: str, action: Callable[[], str], tell: Callable[[], str] | None = None) -> None:
        """Run `action`, which returns its result in one word, and write its line. Raises StepFailed.

        `tell` is what the line says beside that.
        """
        start, began = self._host.now(), self._host.monotonic()
        details: dict[str, object] = {}
        try:
            result = action()
            details = {"found": tell()} if tell else {}
        except NodeError as error:
            result = "failed"
            details = {"exit_code": error.exit_code, "error": str(error)}
        except Exception as error:  # a fault of ours is reported as a failed step too, never as a traceback
            result = "failed"
            details = {"exit_code": EXIT_FAILED, "error": _describe(error)}
        seconds = round(self._host.monotonic() - began, 3)
        times = {"start": _iso(start), "end": _iso(self._host.now()), "seconds": seconds}
        self._write({"step": name, "result": result, **times, **details})
        if result == "failed":
            raise StepFailed(int(str(details["exit_code"])))

    def _write(self, line: dict[str, object]) -> None:
        self._stream.write(self._host.redact(json.dumps(line)) + "\n")
        self._stream.flush()


def _describe(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")
