"""Carries out what ``node_state`` and ``diagnosis`` decide: marks, replaces, requeues and resumes."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from cluster_agent.diagnosis import Verdict, diagnose, orphaned
from cluster_agent.node_state import REPLACE, Order, Watched
from cluster_agent.slurm import Slurm

POLL_SECONDS = 0.2
PENDING_TIMEOUT_SECONDS = 180.0
REPLACE_TIMEOUT_SECONDS = 600.0

log = logging.getLogger(__name__)


class Service(Protocol):
    """What of the service is needed; ``service_client.ServiceClient`` is one."""

    def replace(self, node: str, reason: str) -> bool:
        """Ask for a node's recovery; false where the service could not be reached."""

    def emit(self, kind: str, subject: str, **data: object) -> None:
        """Tell of an event of the source ``agent``."""


class Attendance:
    """Which jobs have a helper at work."""

    def __init__(self) -> None:
        self._helpers: Counter[int] = Counter()
        self._lock = threading.Lock()

    def enter(self, job: int) -> None:
        with self._lock:
            self._helpers[job] += 1

    def leave(self, job: int) -> None:
        with self._lock:
            self._helpers[job] -= 1

    def attended(self) -> set[int]:
        with self._lock:
            self._helpers = +self._helpers
            return set(self._helpers)


class Recovery:
    """The hands of the agent. Methods return at once; what takes time goes on in a thread."""

    def __init__(self, slurm: Slurm, service: Service, attendance: Attendance) -> None:
        self._slurm = slurm
        self._service = service
        self._attendance = attendance
        self._requeueing: set[int] = set()
        self._lock = threading.Lock()

    def carry_out(self, order: Order, node: Watched) -> None:
        """Do one thing about a node."""
        {
            Order.LOSE: self._lose,
            Order.MARKED: self._note_mark,
            Order.REQUEST: self._request,
            Order.RESUME: self._resume,
            Order.RECOVERED: self._recovered,
        }[order](node)

    def verdict(self, number: int, nodes: Sequence[str], unhealthy: Sequence[str]) -> Verdict:
        """Answer a helper: the unhealthy nodes leave the job, or the whole job is requeued."""
        job = self._slurm.job(number)
        answer = diagnose(job, nodes, unhealthy)
        self._service.emit("resume_action", str(number), job=number, action=answer.action)
        # One the job no longer holds may be up again as a new machine: it must not be marked once more.
        held = [node for node in answer.unhealthy if job is not None and node in job.nodes]
        if answer.requeue:
            self.requeue(number, held)
        else:
            for node in held:
                self._evict(node)
        return answer

    def requeue(self, number: int, nodes: Sequence[str]) -> None:
        """Put a job back into the queue, free of its lost nodes, and have it start as soon as it can."""
        with self._lock:
            if number in self._requeueing:
                return
            self._requeueing.add(number)
        self._background(lambda: self._requeue(number, nodes))

    def _lose(self, node: Watched) -> None:
        """A node died: its jobs are requeued, or shrink so that their helpers can go on."""
        self._service.emit("detected", node.name, reason="not reachable")
        jobs = self._slurm.jobs_on(node.name)
        orphans = orphaned(jobs, node.name, self._attendance.attended())
        if orphans:
            self._slurm.mark(node.name, "fail", REPLACE)
        else:
            self._evict(node.name)
        self._service.emit("marked", node.name, reason=REPLACE, jobs=[job.id for job in jobs])
        for job in orphans:
            self.requeue(job.id, [node.name])

    def _note_mark(self, node: Watched) -> None:
        self._service.emit("detected", node.name, reason=node.action)
        self._service.emit("marked", node.name, reason=node.action)

    def _request(self, node: Watched) -> None:
        name, action = node.name, node.action
        self._background(
            lambda: self._until(lambda: self._service.replace(name, action), REPLACE_TIMEOUT_SECONDS, 2.0)
        )

    def _resume(self, node: Watched) -> None:
        self._slurm.resume(node.name)

    def _recovered(self, node: Watched) -> None:
        self._service.emit("replaced", node.name)

    def _evict(self, node: str) -> None:
        """Take a node out of its jobs at once (down), and leave it in the state a marked node has (fail)."""
        self._slurm.mark(node, "down", REPLACE)
        self._slurm.mark(node, "fail", REPLACE)

    def _requeue(self, number: int, nodes: Sequence[str]) -> None:
        """Only in this order does a job with a dead node leave COMPLETING soon: requeue first, then down."""
        try:
            for extra in self._slurm.expansions_of(number):
                self._slurm.cancel(extra)
            answer = self._slurm.requeue(number)
            for node in nodes:
                self._evict(node)
            if not answer.ok and self._state(number) == "RUNNING":
                log.warning("job %d cannot be requeued (%s); cancelling it", number, answer.err)
                self._slurm.cancel(number)
            elif self._until(lambda: self._state(number) in ("PENDING", ""), PENDING_TIMEOUT_SECONDS):
                self._start_again(number)
        finally:
            with self._lock:
                self._requeueing.discard(number)

    def _start_again(self, number: int) -> None:
        if self._state(number) == "PENDING":
            self._slurm.start_now(number)
            self._service.emit("requeued", str(number), job=number)

    def _state(self, number: int) -> str:
        job = self._slurm.job(number)
        return job.state if job else ""

    @staticmethod
    def _background(work: Callable[[], object]) -> None:
        threading.Thread(target=work, name="recovery", daemon=True).start()

    @staticmethod
    def _until(done: Callable[[], bool], timeout: float, every: float = POLL_SECONDS) -> bool:
        deadline = time.monotonic() + timeout
        while not done():
            if time.monotonic() > deadline:
                return False
            time.sleep(every)
        return True
