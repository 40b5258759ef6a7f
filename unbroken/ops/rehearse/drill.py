"""The fault and what follows: one node of the running job is broken, and its recovery is watched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse.cluster import Cluster, Node
from unbroken.ops.rehearse.job import Job, Watch
from unbroken.ops.stages import Stage, StageFailed
from unbroken.rehearsal.events import Event, EventLog, Follower
from unbroken.rehearsal.faults import Fault, FaultError
from unbroken.rehearsal.nodes import enter

STEPS_PAST_CHECKPOINT = 2
"""The fault comes this many steps after a checkpoint, so that some steps have to be done again."""
BEGIN_SECONDS = 240.0
RECOVER_SECONDS = 300.0
FINISH_SECONDS = 600.0

TOLD = {
    "detected": "{subject}: failure seen",
    "marked": "{subject}: marked for replacement",
    "resume_action": "job {job}: {action}",
    "requeued": "job requeued",
    "replaced": "{subject}: back and idle in Slurm",
}


@dataclass(frozen=True)
class NodeTarget:
    """A node of a rehearsal as a fault sees it."""

    cluster: Cluster
    node: Node

    @property
    def name(self) -> str:
        """Host name."""
        return self.node.name

    @property
    def inner_pid(self) -> int:
        """Its init, in the server's PID namespace."""
        return self.node.inner_pid

    def inside(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command as root on the node."""
        return self.cluster.run(self.node, argv)

    def beside(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in the server's namespaces, where the node's init can be killed."""
        command = [*enter.into_server(self.cluster.server_pid), "--", *argv]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def running_node(fault: Fault, job: Job, stage: Stage) -> Node:
    """Wait until the job runs; the node that the fault will break."""
    hosts: list[str] = []

    def placed(watch: Watch) -> bool:
        if watch.state == "RUNNING" and not hosts:
            hosts.extend(job.hosts())
        return bool(hosts)

    job.until("start of the job", placed, BEGIN_SECONDS, stage.detail)
    return job.cluster.find(fault.choose(hosts))


def until_checkpoint(job: Job, stage: Stage) -> None:
    """Train until there is something to go on from, and something to be done again."""
    trigger = job.wait_past_checkpoint(STEPS_PAST_CHECKPOINT, BEGIN_SECONDS)
    try:
        job.until("committed checkpoint", lambda _: trigger.poll() is not None, BEGIN_SECONDS, stage.detail)
    finally:
        trigger.kill()
        trigger.wait()
    if trigger.returncode != 0:
        raise StageFailed(f"no committed checkpoint within {BEGIN_SECONDS:.0f} s", "", job.log_text())
    stage.note = f"{STEPS_PAST_CHECKPOINT} steps past a committed checkpoint"


def break_node(fault: Fault, node: Node, job: Job, events: EventLog, stage: Stage) -> Event:
    """Inject the fault into the node; the fault's event."""
    event = events.emit("fault", fault.kind, node.name, description=fault.description)
    try:
        fault.inject(NodeTarget(job.cluster, node))
    except (FaultError, CannotRun) as error:
        raise StageFailed(str(error)) from error
    job.look()
    stage.note = f"{node.name}, after step {job.watch.step}"
    return event


def recover(fault: Fault, job: Job, events: EventLog, fault_event: Event, stage: Stage) -> None:
    """Watch until a new attempt has done a step, and the replacement is idle where one is expected."""
    follower = Follower(events.path)
    done = len(job.watch.metrics)
    seen: set[str] = set()

    def reached(watch: Watch) -> bool:
        for event in (event for event in follower.new() if event.t >= fault_event.t):
            seen.update(_tell(event, stage.detail))
        return _new_attempt(watch, done) and (not fault.replaces_node or "replaced" in seen)

    job.until("step after the fault", reached, RECOVER_SECONDS, stage.detail)
    first = next(line for line in job.watch.metrics[done:] if _later(line, job.watch.metrics[:done]))
    stage.note = (
        f"training again {first['t'] - fault_event.t:.1f} s after the fault, from step {first['step']}"
    )


def _tell(event: Event, told: Callable[[str], None]) -> set[str]:
    """Show an event of the recovery; its kind, if it is one."""
    if event.source == "hyperpod" and event.kind == "instance_status":
        told(f"{event.subject}: {event.data.get('status')}")
    if event.source != "agent":
        return set()
    if event.kind in TOLD:
        told(TOLD[event.kind].format_map(_Words(subject=event.subject, **event.data)))
    return {event.kind}


class _Words(dict[str, object]):
    """Words for a sentence; an unknown one is left out."""

    def __missing__(self, key: str) -> str:
        return "?"


def _new_attempt(watch: Watch, done: int) -> bool:
    return any(_later(line, watch.metrics[:done]) for line in watch.metrics[done:])


def _later(line: dict[str, object], before: list[dict[str, object]]) -> bool:
    """Whether a metrics line belongs to a later attempt than those before."""
    return not before or int(str(line["attempt"])) > int(str(before[-1]["attempt"]))
