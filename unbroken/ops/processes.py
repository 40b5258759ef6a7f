"""Running other programs so that none outlives us: own process groups, ended with us whatever ends us."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

GRACE_SECONDS = 5.0


def bound(argv: Sequence[str]) -> list[str]:
    """The command, made to die with this process even on kill -9, where setpriv is at hand."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--", *argv] if setpriv else list(argv)


@contextmanager
def running(
    argv: Sequence[str], *, log: Path, cwd: Path, env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A program writing to a log; it and its children are ended on the way out."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            bound(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            # A Ctrl-C is ours to handle: the terminal must not send it to the program as well.
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process group: a request first, then by force; safe when it is over already."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait(GRACE_SECONDS)
