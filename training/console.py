"""What a process says, and how it ends, whatever becomes of its log: a full disk, a terminal that has gone.

Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

EXIT_DONE, EXIT_FAILED, EXIT_CANNOT_START, EXIT_STOPPED = 0, 1, 2, 3
"""Of the launcher and of a rank; EXIT_STOPPED: told to stop, and saved."""


def tell(text: str) -> None:
    """Say something on stderr; trouble there must not end what it tells of."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def end_process(code: int) -> NoReturn:
    """Leave without Python's and torch's tear-down.

    Threads of the process group may still run then, and abort the process ("terminate called without an
    active exception", seen once in a run of four ranks): a finished job would look like a failed one. So
    would one whose last words find no room.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)
