"""Decisions about jobs, without any input or output; ``recovery`` carries them out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cluster_agent.slurm import Job

RETRYSTEP = "RETRYSTEP"
NONE = "NONE"


@dataclass(frozen=True)
class Verdict:
    """The answer to a helper whose step failed."""

    action: str
    unhealthy: tuple[str, ...] = ()
    requeue: bool = False
    """The agent requeues the whole job, so the helper only waits for its end."""


def diagnose(job: Job | None, nodes: Sequence[str], unhealthy: Collection[str]) -> Verdict:
    """RETRYSTEP where one of the step's nodes is unhealthy, else NONE.

    Slurm cannot swap nodes inside a job with generic resources, nor give a job a new batch host: such a job
    is requeued as a whole, under its own id. A node the step had and the job no longer holds was lost, even
    if the next machine of that name is already up.
    """
    if job is None:
        return Verdict(NONE)
    bad = tuple(node for node in nodes if node in unhealthy or node not in job.nodes)
    if not bad:
        return Verdict(NONE)
    return Verdict(RETRYSTEP, bad, requeue=job.gres or job.batch_host in bad)


def orphaned(jobs: Sequence[Job], node: str, attended: Collection[int]) -> list[Job]:
    """Jobs on a lost node that nobody will ask about: the agent has to requeue them itself.

    Those are jobs whose batch script died with the node and jobs without a helper.
    """
    return [job for job in jobs if job.batch_host == node or job.id not in attended]
