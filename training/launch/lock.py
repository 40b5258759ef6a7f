"""One launcher a run directory: two would train the same steps and write over each other's files.

Standard library only.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from training.errors import JobError

NAME = "launcher.lock"
_ASK_AGAIN_SECONDS = 1.0


class Busy(JobError):
    """Another launcher is at work; the message is for a person."""


@contextmanager
def alone(
    run_directory: Path, patience: float, say: Callable[[str], None], is_over: Callable[[float], bool]
) -> Iterator[None]:
    """Held by this process alone, on all nodes; the kernel lets go when it ends.

    Raises Busy after `patience` seconds, or when `is_over`, which waits so many seconds, says so. A shared
    file system may take minutes to learn that a node is gone, and its launcher with it.
    """
    run_directory.mkdir(parents=True, exist_ok=True)
    with (run_directory / NAME).open("a+", encoding="utf-8") as file:
        until, said = time.monotonic() + patience, False
        while not _locked(file, say):
            busy = f"{run_directory}: another launcher is at work, {_holder(file)}"
            if time.monotonic() >= until or (said and is_over(_ASK_AGAIN_SECONDS)):
                raise Busy(busy, "wait until it has ended, or use another job directory")
            if not said:
                said = True
                say(f"{busy}; waiting {patience:.0f} s for its end")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield


def _locked(file: TextIO, say: Callable[[str], None]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        say(f"{file.name}: {error.strerror}; a second launcher would not be noticed")
    return True


def _holder(file: TextIO) -> str:
    file.seek(0)
    return file.read().strip() or "which has not said where"
