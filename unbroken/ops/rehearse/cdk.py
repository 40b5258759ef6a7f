"""The real cdk CLI against the embedded AWS: bootstrap, deploy, destroy, each with its own log."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from unbroken.ops.processes import running
from unbroken.ops.rehearse.places import Places
from unbroken.ops.stages import StageFailed
from unbroken.ops.tools import cdk_command, tool_environment
from unbroken.rehearsal.aws import environment as embedded

POLL_SECONDS = 0.2
FULL_BYTES = 2**20
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_DONE = re.compile(r"^\s*\u2705\s+(\S+?)(?:\s*\((no changes)\)|: (destroyed))?\s*$")
_RAISED = re.compile(r"[\w.]*(?:Error|Exception): \S")
"""The last line of a Python traceback; jsii prints the JavaScript one before it."""
_FAILED = re.compile(r"_FAILED +\| (AWS::\S+|Custom::\S+) +\| (.+)")


@dataclass(frozen=True)
class Cdk:
    """The cdk CLI of one rehearsal. Nothing of the user's AWS settings reaches it."""

    root: Path
    places: Places
    cluster_file: Path
    port: int
    region: str
    deadline_seconds: float = 900.0

    def bootstrap(self, watch: Callable[[str], None]) -> None:
        """Make the bootstrap stack; outside the app's folder, else the CLI would synthesize first."""
        target = f"aws://{embedded.ACCOUNT}/{self.region}"
        self._run("bootstrap", ["bootstrap", target], self.places.state, watch)

    def deploy(self, watch: Callable[[str], None], poll: Callable[[], None]) -> None:
        """Synthesize and deploy all stacks; `poll` is called while it runs."""
        self._run(
            "deploy", ["deploy", *self._app(), "--all", "--require-approval", "never"], self.root, watch, poll
        )

    def destroy(self, watch: Callable[[str], None], poll: Callable[[], None]) -> None:
        """Destroy all stacks, from the assembly that was deployed."""
        arguments = ["destroy", "--app", str(self.places.cdk_out), "--all", "--force"]
        self._run("destroy", arguments, self.places.state, watch, poll)

    def _app(self) -> list[str]:
        return ["--output", str(self.places.cdk_out), "-c", f"cluster={self.cluster_file}"]

    def _run(
        self,
        name: str,
        arguments: list[str],
        cwd: Path,
        watch: Callable[[str], None],
        poll: Callable[[], None] = lambda: None,
    ) -> None:
        """Run cdk to its end. `watch` gets the name of each stack that is done."""
        log = self.places.log(f"cdk-{name}")
        command = [str(cdk_command(self.root)), *arguments, "--ci", "--no-notices", "--no-color"]
        command += ["--progress", "events"] if name != "bootstrap" else []
        env = embedded.client(self.port, self.region, tool_environment(self.root))
        env["TMPDIR"] = str(self._scratch())  # what a killed or failed synth leaves goes with the rehearsal
        with running(command, log=log, cwd=cwd, env=env) as process:
            self._follow(name, process, log, watch, poll)
        if process.returncode != 0:
            raise StageFailed(
                f"cdk {name} ended with exit code {process.returncode}: {full_disk(log) or reason(log)}",
                f"the whole output is in {log}",
                log,
            )

    def _scratch(self) -> Path:
        folder = self.places.state / "tmp"
        folder.mkdir(exist_ok=True)
        return folder

    def _follow(
        self,
        name: str,
        process: subprocess.Popen[bytes],
        log: Path,
        watch: Callable[[str], None],
        poll: Callable[[], None],
    ) -> None:
        deadline = time.monotonic() + self.deadline_seconds
        stacks = finished(log)
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise StageFailed(f"cdk {name} was not done after {self.deadline_seconds:.0f} s", log=log)
            poll()
            _tell(stacks, watch)
            time.sleep(POLL_SECONDS)
        poll()
        _tell(stacks, watch)


def _tell(stacks: Iterator[str | None], watch: Callable[[str], None]) -> None:
    """Tell the stacks that were done since the last look."""
    for stack in stacks:
        if stack is None:
            return
        watch(stack)


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
