"""The one place where the agents of a node run other programs; all else works on text."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

TIMED_OUT = 124


@dataclass(frozen=True)
class Result:
    """What a program left: its exit status and its two outputs."""

    code: int
    out: str = ""
    err: str = ""

    @property
    def ok(self) -> bool:
        return self.code == 0


class Runner(Protocol):
    """Runs a program; never raises, never waits longer than ``timeout`` seconds."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        timeout: float = 10.0,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Status 124 stands for a program that took too long, 127 for one that cannot be started."""


def run(
    argv: Sequence[str],
    *,
    timeout: float = 10.0,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run a program. Slurm's commands hang for seconds where slurmctld is down, so every call has a limit."""
    try:
        done = subprocess.run(
            list(argv), capture_output=True, text=True, timeout=timeout, cwd=cwd, env=env, check=False
        )
    except subprocess.TimeoutExpired:
        return Result(TIMED_OUT, err=f"{argv[0]} did not answer within {timeout:g} s")
    except OSError as error:
        return Result(127, err=f"{argv[0]}: {error.strerror}")
    return Result(done.returncode, done.stdout, done.stderr.strip())
