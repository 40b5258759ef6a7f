"""Printing: data to stdout, talk to stderr, colour only where a person looks at it.

NO_COLOR (any value) and a stream that is no terminal switch colour off; nothing is said by colour alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

_STYLES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def colour_wanted(stream: TextIO, env: Mapping[str, str] = os.environ) -> bool:
    """Whether this stream is a terminal whose owner did not refuse colour."""
    return stream.isatty() and "NO_COLOR" not in env and env.get("TERM") != "dumb"


def styled(text: str, style: str, stream: TextIO) -> str:
    """The text in a style, or as it is where colour is not wanted."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour_wanted(stream) else text


def width() -> int:
    """Columns to write in: those of the terminal, at least 40 and at most 110."""
    return max(40, min(110, shutil.get_terminal_size((100, 24)).columns))


@dataclass
class _Asked:
    """What stdout is for in this run."""

    json: bool = False
    answered: bool = False


_asked = _Asked()


def as_json(wanted: bool) -> bool:
    """Note whether the result is to be JSON: an error is one then too. A callback of the option."""
    _asked.json, _asked.answered = wanted, False
    return wanted


def data(text: str) -> None:
    """What the user asked for."""
    _asked.answered = True
    print(text, file=sys.stdout)


def wrong_file(problems: Sequence[Mapping[str, object]], words: str) -> None:
    """Every problem of a cluster file; as JSON too where that was asked for."""
    if _asked.json and not _asked.answered:
        data(json.dumps({"schema_version": 1, "ok": False, "problems": list(problems)}, indent=2))
    talk(words)


def talk(text: str = "") -> None:
    """What is said about the work. A reader that has gone away does not make the work a failure."""
    with contextlib.suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)


def failure(message: str, hint: str = "") -> None:
    """An error in the shape of all our errors: the message, an empty line, the hint.

    Where JSON was asked for and nothing was answered yet, it is the answer: whoever reads it gets a reason.
    """
    if _asked.json and not _asked.answered:
        data(json.dumps({"schema_version": 1, "ok": False, "error": message, "hint": hint}, indent=2))
    talk(f"{styled('error:', 'red', sys.stderr)} {message}")
    if hint:
        talk(f"\n{styled('hint:', 'bold', sys.stderr)} {hint}")


def log_end(name: str, lines: Sequence[str]) -> None:
    """The last lines of the log that explains a failure, where there is one."""
    if lines:
        talk(f"\nthe end of {name or 'its log'}:")
    for line in lines:
        talk(f"  {line[: width() - 2]}")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows in aligned columns, two spaces apart; the last column is not padded."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows)
    return "\n".join(lines)
