"""Runs one step: srun as a child, its failure noticed at once, its end forced where a dead node holds it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from auto_resume.notices import Listener, Notices, TaskExit
from slurm_commands import Runner

NOTIFY = "AUTO_RESUME_NOTIFY"
POLL_SECONDS = 0.2
KILL_GRACE_SECONDS = 3.0
"""A node without power never confirms the end of its tasks, and srun would wait for it."""
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Outcome:
    """How a step ended; ``failure`` where a task told of itself, ``code`` as a shell would have it."""

    code: int
    step: str | None
    failure: TaskExit | None

    @property
    def ok(self) -> bool:
        return self.code == 0 and self.failure is None


class Children:
    """The program running now, if any: signals meant for srun are passed on to it."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self.stopped_by: int | None = None

    def install(self) -> None:
        for number in PASSED_ON:
            signal.signal(number, self._pass_on)

    def start(
        self, argv: Sequence[str], env: Mapping[str, str], *, read_errors: bool
    ) -> subprocess.Popen[str]:
        errors = subprocess.PIPE if read_errors else None
        self._child = subprocess.Popen(list(argv), env=dict(env), stderr=errors, text=True)
        return self._child

    def _pass_on(self, number: int, _: types.FrameType | None) -> None:
        if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.stopped_by = number
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)
        elif self.stopped_by is not None:
            os._exit(128 + number)


class StepRunner:
    """Runs srun with the helper's address in its environment and waits for the end of the step."""

    def __init__(self, job: str, listener: Listener, children: Children, run: Runner) -> None:
        self._job, self._listener, self._children, self._run = job, listener, children, run
        self._notices = Notices(job)

    def execute(self, arguments: Sequence[str], env: Mapping[str, str]) -> Outcome:
        """One attempt at the step."""
        self._notices.begin()
        child = self._children.start(
            ["srun", *arguments], {**env, NOTIFY: self._listener.where}, read_errors=False
        )
        while child.poll() is None and self._notices.failure is None:
            self._take(POLL_SECONDS)
        self._take(0.05)
        failure = self._notices.failure
        if child.poll() is None:
            self._end(child)
        return Outcome(_code(child.returncode, failure), self._notices.step, failure)

    def _take(self, timeout: float) -> None:
        line = self._listener.receive(timeout)
        if line:
            self._notices.take(line)

    def _end(self, child: subprocess.Popen[str]) -> None:
        """End the step's other tasks; scancel blocks for seconds on a dead node, so nobody waits for it."""
        step = f"{self._job}.{self._notices.step}"
        cancel = ["scancel", "--signal=KILL", step]
        threading.Thread(target=lambda: self._run(cancel, timeout=15), daemon=True).start()
        try:
            child.wait(KILL_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _code(returned: int, failure: TaskExit | None) -> int:
    """The failed task's own code where it is known: srun may have been ended by us."""
    if failure is not None:
        return failure.exit_code
    return returned if returned >= 0 else 128 - returned
