"""The real cdk CLI against a target: bootstrap and deploy, each with its own log."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from unbroken.ops.processes import running
from unbroken.ops.stages import StageFailed
from unbroken.ops.tools import cdk_command, tool_environment

POLL_SECONDS = 0.2
FULL_BYTES = 2**20
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_DONE = re.compile(r"^\s*\u2705\s+(\S+?)(?:\s*\((no changes)\)|: (destroyed))?\s*$")
_RAISED = re.compile(r"[\w.]*(?:Error|Exception): \S")
"""The last line of a Python traceback; jsii prints the JavaScript one before it."""
_FAILED = re.compile(r"_FAILED +\| (AWS::\S+|Custom::\S+) +\| (.+)")


def _nothing() -> None:
    pass


def _ignore(_: str) -> None:
    pass


@dataclass(frozen=True)
class Cdk:
    """The cdk CLI with the settings of one target."""

    root: Path
    """The checkout, whose cdk it is."""
    environment: Mapping[str, str]
    """The target's."""
    logs: Path
    """Folder of ``cdk-<verb>.log``."""
    scratch: Path
    """Folder to run in; what a killed cdk leaves goes with it."""
    deadline_seconds: float | None = None
    """None: as long as CloudFormation takes."""

    def bootstrap(self, account: str, region: str) -> None:
        """Make the bootstrap stack of an account and region. StageFailed where cdk fails."""
        self._run("bootstrap", [f"aws://{account}/{region}"], _ignore, _nothing)

    def deploy(self, assembly: Path, done: Callable[[str], None], poll: Callable[[], None]) -> None:
        """Deploy all stacks of a cloud assembly, one after another. StageFailed where cdk fails.

        ``done`` gets the name of each stack as it is ready; ``poll`` is called all the while.
        """
        arguments = ["--app", str(assembly), "--all", "--require-approval", "never", "--progress", "events"]
        self._run("deploy", arguments, done, poll)

    def log(self, verb: str) -> Path:
        """Where cdk's output goes."""
        return self.logs / f"cdk-{verb}.log"

    def _run(
        self, verb: str, arguments: list[str], done: Callable[[str], None], poll: Callable[[], None]
    ) -> None:
        log = self.log(verb)
        command = [str(cdk_command(self.root)), verb, *arguments, "--ci", "--no-notices", "--no-color"]
        for folder in (self.logs, self.scratch):
            folder.mkdir(parents=True, exist_ok=True)
        env = {**tool_environment(self.root, self.environment), "TMPDIR": str(self.scratch)}
        with running(command, log=log, cwd=self.scratch, env=env) as process:
            self._follow(verb, process, done, poll)
        if process.returncode != 0:
            raise StageFailed(
                f"cdk {verb} ended with exit code {process.returncode}: {full_disk(log) or reason(log)}",
                f"the whole output is in {log}",
                log,
            )

    def _follow(
        self,
        verb: str,
        process: subprocess.Popen[bytes],
        done: Callable[[str], None],
        poll: Callable[[], None],
    ) -> None:
        limit = self.deadline_seconds
        deadline = time.monotonic() + limit if limit is not None else float("inf")
        stacks = finished(self.log(verb))
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise StageFailed(f"cdk {verb} was not done after {limit:.0f} s", log=self.log(verb))
            poll()
            _tell(stacks, done)
            time.sleep(POLL_SECONDS)
        poll()
        _tell(stacks, done)


def _tell(stacks: Iterator[str | None], done: Callable[[str], None]) -> None:
    """Tell the stacks that were done since the last look."""
    for stack in stacks:
        if stack is None:
            return
        done(stack)


def finished(log: Path) -> Iterator[str | None]:
    """The stacks that a growing log reports as done; None whenever there is no more for now."""
    with log.open(errors="replace") as file:
        rest = ""
        while True:
            rest += file.readline()
            if not rest.endswith("\n"):
                yield None
                continue
            match = _DONE.match(_ANSI.sub("", rest))
            rest = ""
            if match:
                yield match.group(1)


def full_disk(log: Path) -> str:
    """Says so where the log's disk is full: then the log holds no reason, or not the whole of it."""
    free = shutil.disk_usage(log.parent).free
    return f"the disk of {log.parent} is full" if free < FULL_BYTES else ""


def reason(log: Path) -> str:
    """What a cdk log says went wrong: the first failed resource, else what app.py raised, else an error."""
    lines = [_ANSI.sub("", line).strip() for line in log.read_text(errors="replace").splitlines()]
    for line in lines:
        failed = _FAILED.search(line)
        if failed and "cancelled" not in line:
            return f"{failed.group(1)} failed: {failed.group(2)}"
    raised = [line for line in lines if _RAISED.match(line)]
    errors = raised[-1:] or [line for line in lines if "rror" in line]
    return (errors or [line for line in reversed(lines) if line] or ["it said nothing"])[0]
