"""The lines a customer finds in the job's output, worded (and spelled) as on HyperPod."""

from __future__ import annotations

import sys
from dataclasses import dataclass

# Spelling as printed by the real service.
REPLACING = "Job failed - replacing nodes"
DROPPING = "Job failed - Droping unhealthy nodes"
SHRUNK = "Succesfully shrink job to retain healthy nodes {nodes}"
EXPANDED = "Job Expansion complete"
NEW_NODES = "Updating to new node list {nodes}"
RETRYING = "Retrying step. Attempt number: {attempt}"
DIAGNOSING = "Initiating communication with cluster agent to diagnose health of nodes"
RESPONSE = "Response from cluster agent: JobId={job}, ResumeAction={action}"
TASK_FAILED = "Task failed on node {node}"
TERMINATED = "Successfully terminated the step since task exited with status: {status}"
REFUSED = "Slurm configuration doesn't allow to resume a job."


@dataclass(frozen=True)
class Speaker:
    """Prints lines about one step of a job."""

    job: str
    step: str = "0"

    def info(self, text: str, task: str | None = None) -> None:
        self._say("Info", text, task)

    def error(self, text: str, task: str | None = None) -> None:
        self._say("Error", text, task)

    def _say(self, level: str, text: str, task: str | None) -> None:
        print(self.line(level, text, task), file=sys.stderr, flush=True)

    def line(self, level: str, text: str, task: str | None = None) -> str:
        about = f"JobID: {self.job} StepID: {self.step} " + (f"TaskID: {task} " if task is not None else "")
        return f"[Auto Resume] {level}: {about}{text}"
