"""The rehearsed job: written to the shared file system, submitted as its user, watched through its files."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse.cluster import Cluster
from unbroken.ops.stages import StageFailed
from unbroken.rehearsal.events import EventLog

POLL_SECONDS = 0.5
LOOKS = 25
"""Times a condition is asked between two looks at the job."""
STATE_POLL_SECONDS = 1.5
OVER = frozenset({"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL"})
_MARK = "---unbroken---"
_TRIGGER = """
import json, re, sys, time
run, steps, end = sys.argv[1], int(sys.argv[2]), time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    time.sleep(0.01)
    try:
        name = json.load(open(run + "/run_state.json"))["checkpoint"] or ""
        step = json.loads(open(run + "/metrics.jsonl").read().splitlines()[-1])["step"]
    except (OSError, ValueError, LookupError):
        continue
    saved = re.findall("[0-9]+", name.rpartition("/")[2])
    if saved and step >= int(saved[-1]) + steps:
        sys.exit(0)
sys.exit(1)
"""


@dataclass
class Watch:
    """What is known of the job so far."""

    metrics: list[dict[str, Any]] = field(default_factory=list)
    run_state: dict[str, Any] = field(default_factory=dict)
    state: str = ""

    @property
    def step(self) -> int:
        """The last step done."""
        return int(self.metrics[-1]["step"]) if self.metrics else 0


class Job:
    """One job. Every look at it goes through the controller; a look that fails is repeated, not believed."""

    def __init__(self, cluster: Cluster, events: EventLog, user: str, directory: str) -> None:
        self.cluster = cluster
        self.events = events
        self.user = user
        self.directory = directory
        self.id = ""
        self.watch = Watch()
        self._offset = 0
        self._looked_at_state = 0.0

    def submit(self, files: dict[str, str]) -> str:
        """Write the job's files and submit it; the job id. StageFailed says what sbatch said."""
        try:
            for name, text in files.items():
                self.cluster.write(f"{self.directory}/{name}", text, self.user)
        except OSError as error:
            raise StageFailed(f"the job could not be written: {error}", "see the lifecycle log") from error
        done = self.cluster.shell(f"cd {self.directory} && sbatch --parsable job.sbatch", user=self.user)
        if done.returncode != 0:
            raise StageFailed(f"sbatch refused the job: {done.stderr.strip()}", log=files["job.sbatch"])
        self.id = done.stdout.strip().split(";")[0]
        self.events.emit("job", "submitted", self.directory, id=self.id, state="PENDING")
        return self.id

    def look(self) -> Watch:
        """Read what is new of the metrics, and now and then the job's state in Slurm."""
        try:
            self._read_files()
            if time.monotonic() - self._looked_at_state > STATE_POLL_SECONDS:
                self._looked_at_state = time.monotonic()
                self._read_state()
        except (subprocess.TimeoutExpired, CannotRun):
            pass  # one failed look proves nothing; the caller's deadline decides
        return self.watch

    def _read_files(self) -> None:
        script = (
            f"cd {self.directory}/run 2>/dev/null || exit 0; cat run_state.json 2>/dev/null; "
            f"echo; echo {_MARK}; tail -c +{self._offset + 1} metrics.jsonl 2>/dev/null"
        )
        state, _, new = self.cluster.shell(script, user=self.user).stdout.partition(f"{_MARK}\n")
        whole = new[: new.rfind("\n") + 1]
        self._offset += len(whole.encode())
        self.watch.metrics += [json.loads(line) for line in whole.splitlines() if line.strip()]
        if state.strip():
            self.watch.run_state = json.loads(state)

    def _read_state(self) -> None:
        done = self.cluster.shell(f"squeue -h -t all -j {self.id} -o %T", timeout=10)
        state = done.stdout.split()[0] if done.returncode == 0 and done.stdout.split() else ""
        if state and state != self.watch.state:
            self.watch.state = state
            self.events.emit("job", "state", self.directory, id=self.id, state=state)

    def hosts(self) -> list[str]:
        """The job's nodes, the batch host first; empty while Slurm does not say."""
        done = self.cluster.shell(
            f'scontrol show hostnames "$(squeue -h -j {self.id} -o %N)"; squeue -h -j {self.id} -o %B'
        )
        names = done.stdout.split()
        if done.returncode != 0 or not names:
            return []
        return [names[-1], *(name for name in names[:-1] if name != names[-1])]

    def wait_past_checkpoint(self, steps: int, seconds: float) -> subprocess.Popen[str]:
        """A process on the controller that ends as soon as training is `steps` past a committed checkpoint.

        It looks there every few milliseconds: a step of the tiny model takes no longer than a look from here.
        """
        argv = ["python3", "-c", _TRIGGER, f"{self.directory}/run", str(steps), str(seconds)]
        command = self.cluster.command(self.cluster.controller(), argv)
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, text=True)

    def log_text(self) -> str:
        """The end of the job's own log."""
        try:
            return self.cluster.shell(f"tail -n 40 {self.directory}/*.log", user=self.user).stdout
        except (subprocess.TimeoutExpired, CannotRun):
            return ""

    def until(
        self, what: str, reached: Callable[[Watch], bool], seconds: float, told: Callable[[str], None]
    ) -> None:
        """Look until `reached`; StageFailed if the job ends before, or after `seconds`.

        `reached` is asked between two looks as well, so that what it waits for is not missed for long.
        """
        deadline = time.monotonic() + seconds
        step = self.watch.step
        while True:
            watch = self.look()
            if watch.step != step:
                step = watch.step
                told(f"step {step}, loss {watch.metrics[-1]['loss']:.4f}")
            if reached(watch):
                return
            if watch.state in OVER:
                raise StageFailed(f"the job ended as {watch.state} before {what}", "", self.log_text())
            if time.monotonic() > deadline:
                raise StageFailed(f"no {what} within {seconds:.0f} s", "", self.log_text())
            if _soon(partial(reached, watch)):
                return

    def accounting(self) -> list[str]:
        """The job's line in Slurm's accounting, as `JobID State`."""
        done = self.cluster.shell(f"sacct -X -n -P -D -j {self.id} -o JobID,State")
        if done.returncode != 0:
            raise StageFailed(
                f"sacct does not answer: {done.stderr.strip()}", "see /var/log/slurm/slurmdbd.log"
            )
        return [line.replace("|", " ") for line in done.stdout.splitlines() if line.strip()]


def _soon(reached: Callable[[], bool]) -> bool:
    """Ask for the time between two looks."""
    for _ in range(LOOKS):
        time.sleep(POLL_SECONDS / LOOKS)
        if reached():
            return True
    return False
