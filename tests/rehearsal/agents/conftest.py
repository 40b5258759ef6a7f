"""Where the tests of the agents find the programs of a node, and a cluster of real Slurm for some of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

LIB = Path(__file__).parents[3] / "unbroken/rehearsal/nodes/image/opt/rehearsal/lib"
sys.path.insert(0, str(LIB))

from tests.rehearsal.agents.bench import CONTROLLER, start  # noqa: E402  (after the path above)

POLL_SECONDS = 0.1
ON_FAILURE = """
tail -15 /var/log/aws/clusters/sagemaker-cluster-agent.log; sinfo -N; squeue; squeue -s
tail -n 30 $(ls -t /fsx/out-* | head -1); tail -30 /var/log/slurm/slurmctld.log
"""


class Cluster:
    """The tests' side of the bench: requests, and waiting for what they lead to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def do(self, what: str, **values: object) -> Any:
        """One request; raises AssertionError where the bench says it failed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **values}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the bench ended"}
        assert "error" not in answer, answer["error"]
        return answer["answer"]

    def run(self, script: str, *, node: str = CONTROLLER, user: str = "", **env: str) -> str:
        """Both outputs of a shell script on a node, whatever its status."""
        request = {"argv": ["bash", "-c", f"exec 2>&1\n{script}"], "node": node, "user": user, "env": env}
        return str(self.do("run", **request)["out"]).strip()

    def submit(self, *options: str, command: str, **env: str) -> str:
        """The id of a batch job of the user's; its output is in /fsx/out-<id>."""
        quoted = " ".join(options)
        job = f"--parsable --open-mode=append -o /fsx/out-%j {quoted} {command}"
        number = self.run(f"sbatch {job}", user="ubuntu", **env)
        assert number.isdigit(), number
        return number

    def output(self, job: str) -> str:
        return self.run(f"cat /fsx/out-{job}")

    def state(self, node: str) -> str:
        return self.run(f"sinfo -h -N -n {node} -o '%T' | head -1")

    def job_state(self, job: str) -> str:
        """Empty once Slurm has forgotten it."""
        return self.run(f"scontrol -o show job {job} | grep -o 'JobState=[A-Z]*' | cut -d= -f2")

    def requested(self) -> list[tuple[str, str]]:
        """What the service was asked for so far: node and reason."""
        return [(one["node"], one["reason"]) for one in self.do("requests")]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.do("events") if event["kind"] == kind]

    def wait(self, what: str, true: Callable[[], object], timeout: float = 30.0) -> float:
        """Seconds until ``true`` held; fails naming ``what`` after ``timeout`` seconds."""
        began = time.monotonic()
        while not true():
            if time.monotonic() - began > timeout:
                log = self.run(ON_FAILURE)
                pytest.fail(f"not within {timeout:g} s: {what}\n{log}")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - began

    def settle(self) -> None:
        """No jobs, every node idle.

        A step that lost a node may hold its job in COMPLETING for a minute: Slurm waits that long for the
        lost node's part of the report.
        """
        self.run("scancel -u ubuntu")
        idle = {"idle"}
        self.wait("every node idle", lambda: self.states() == idle and not self.run("squeue -h"), 90)

    def states(self) -> set[str]:
        return set(self.run("sinfo -h -N -p dev -o %T").split())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A controller and three workers, with a stand-in for the service."""
    if os.geteuid() != 0:
        pytest.skip("needs root, for namespaces")
    process = start()
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline() or '"it ended"') == "up"
        made = Cluster(process)
        made.settle()
        yield made
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.wait(30)
        process.stdout.close()
