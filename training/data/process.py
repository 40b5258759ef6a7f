"""The writer of an index as a process: only one at a time, a sign of life, and an end with its parent."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

BEAT_SECONDS = 5.0


@contextmanager
def lock(directory: Path, busy: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the index; the kernel lets it go when the process is gone.

    Calls `busy` where another process holds it, and waits. Leaves nothing where no index was begun.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "writer.lock").open("a") as file:
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                busy()
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:  # the file system has no locks; writer.py says why that does no harm
            print(f"index writer: no lock on {directory}: {error}", file=sys.stderr, flush=True)
        try:
            yield
        finally:
            if not (directory / "source.json").exists():
                shutil.rmtree(directory, ignore_errors=True)


def keep_beating(beat: Callable[[], None]) -> None:
    """Show from now on that the writer lives."""

    def forever() -> None:
        while True:
            time.sleep(BEAT_SECONDS)
            beat()

    threading.Thread(target=forever, daemon=True).start()


def serve_parent() -> None:
    """Leave the processor to training, and leave at once when the rank that started this process is gone."""

    def watch() -> None:
        os.read(sys.stdin.fileno(), 1)  # without Python's buffer, whose lock would abort an exit
        os._exit(0)

    os.nice(10)
    os.environ.setdefault("RAYON_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // 4)))
    threading.Thread(target=watch, daemon=True).start()


def answer(word: str, **more: str) -> None:
    """Tell the rank that waits for it."""
    print(json.dumps({"state": word, **more}), flush=True)
