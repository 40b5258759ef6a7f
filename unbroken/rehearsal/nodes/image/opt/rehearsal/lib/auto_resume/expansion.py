"""Gives a job back the nodes it lost: an extra job is asked for and merged, as often as it takes."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import MutableMapping

from auto_resume.messages import DROPPING, EXPANDED, NEW_NODES, REPLACING, SHRUNK, Speaker
from auto_resume.slurm_job import SlurmJob, without_job
from auto_resume.step import Children

SHRINK_TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.2
MERGE_ATTEMPTS = 3
_JOB_ID = re.compile(r"\bjob (?:allocation )?(\d+)")


class Expansion:
    """The way from a job with lost nodes to one of the old size."""

    def __init__(self, job: SlurmJob, children: Children, env: MutableMapping[str, str]) -> None:
        self._job, self._children, self._env = job, children, env
        self._wanted = int(env["SLURM_JOB_NUM_NODES"])

    def restore(self, unhealthy: tuple[str, ...], say: Speaker) -> bool:
        """True once the job has its old number of nodes; waits for replacements as long as they take."""
        say.info(REPLACING)
        say.info(DROPPING)
        if not self._shrunk(unhealthy):
            say.error(f"the job still holds {','.join(unhealthy)} after {SHRINK_TIMEOUT_SECONDS:.0f} s")
            return False
        say.info(SHRUNK.format(nodes=self._job.node_list()))
        if not self._grown(say):
            return False
        self._job.renew(self._env)
        say.info(EXPANDED)
        say.info(NEW_NODES.format(nodes=self._env["SLURM_JOB_NODELIST"]))
        return True

    def _shrunk(self, unhealthy: tuple[str, ...]) -> bool:
        """The agent takes lost nodes out of the job; wait until Slurm shows it."""
        deadline = time.monotonic() + SHRINK_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            nodes = self._job.nodes()
            if nodes and not set(unhealthy) & set(nodes):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _grown(self, say: Speaker) -> bool:
        """Another node may be lost while an extra job waits, so the size is looked at after each merge."""
        failures = 0
        while missing := self._wanted - len(self._job.nodes()):
            if self._children.stopped_by is not None:
                return False
            problem = self._add(missing)
            failures += bool(problem)
            if failures >= MERGE_ATTEMPTS:
                say.error(f"the job cannot be expanded: {problem}")
                return False
        return True

    def _add(self, count: int) -> str:
        """Ask for ``count`` nodes and merge them; the reason where that failed."""
        extra, problem = self._allocate(count)
        if not extra or problem:
            return problem or "no allocation was granted"
        merged = self._job.absorb(extra, self._env)
        return "" if merged.ok else merged.err

    def _allocate(self, count: int) -> tuple[str, str]:
        """The id of a job without steps that holds the nodes; salloc's words are shown as srun's."""
        extra, last = "", ""
        with self._children.start(self._salloc(count), without_job(self._env), read_errors=True) as child:
            for line in child.stderr or ():
                last = line.strip()
                found = _JOB_ID.search(line)
                extra = found.group(1) if found else extra
                if "queued and waiting" in line:
                    print(line.rstrip().replace("salloc: ", "srun: "), file=sys.stderr, flush=True)
        return extra, "" if child.returncode == 0 else last

    def _salloc(self, count: int) -> list[str]:
        """The extra job inherits neither partition nor exclusions."""
        excluded = self._job.excluded()
        return [
            "salloc",
            "--no-shell",
            "--job-name=auto-res",
            f"--nodes={count}",
            "--exclusive",
            f"--partition={self._env['SLURM_JOB_PARTITION']}",
            f"--dependency=expand:{self._job.number}",
            *([f"--exclude={excluded}"] if excluded else []),
        ]
