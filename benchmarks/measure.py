"""Run a command and measure what it cost. Knows nothing of what is measured."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """CPU seconds (user and system, children included) and wall seconds of one run."""

    cpu_seconds: float
    wall_seconds: float


def cost(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Cost:
    """Cost of one run. Raises subprocess.CalledProcessError if the command fails."""
    before, started = os.times(), time.monotonic()
    subprocess.run(argv, cwd=cwd, env={**os.environ, **env}, check=True, capture_output=True)
    after = os.times()
    cpu = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Cost(cpu, time.monotonic() - started)


def best(argv: Sequence[str], cwd: Path, env: Mapping[str, str], times: int = 5) -> Cost:
    """The cheapest of several runs by CPU seconds: noise only ever adds."""
    return min((cost(argv, cwd, env) for _ in range(times)), key=lambda c: c.cpu_seconds)
