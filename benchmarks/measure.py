"""Run a command and measure what it cost. Knows nothing of what is measured."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path


def cost(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> float:
    """CPU seconds (user and system, children included) of one run. Raises subprocess.CalledProcessError if
    the command fails."""
    before = _children_cpu_seconds()
    subprocess.run(argv, cwd=cwd, env={**os.environ, **env}, check=True, capture_output=True)
    return _children_cpu_seconds() - before


def _children_cpu_seconds() -> float:
    """In microseconds; os.times counts in hundredths."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def best(argv: Sequence[str], cwd: Path, env: Mapping[str, str], times: int = 10) -> float:
    """CPU seconds of the cheapest of several runs: noise only ever adds."""
    return min(cost(argv, cwd, env) for _ in range(times))


class PeakMemory:
    """Context manager: the most memory the machine used beyond what it used before, in GiB.

    Machine-wide, so that memory file systems and every process count: run it on an otherwise idle machine.
    """

    def __enter__(self) -> PeakMemory:
        self._before = self._least = available_kib()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.25):
            self._least = min(self._least, available_kib())

    @property
    def gib(self) -> float:
        return (self._before - self._least) / 1024**2


def available_kib() -> int:
    """MemAvailable of /proc/meminfo."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
