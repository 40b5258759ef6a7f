"""The whole rehearsal: real nodes in namespaces, real Slurm, a job that loses a node and goes on."""

from __future__ import annotations

from unbroken import render
from unbroken.checks.result import counted
from unbroken.ops.rehearse import deployment, drill
from unbroken.ops.rehearse.cluster import Cluster, wait_for
from unbroken.ops.rehearse.context import Context
from unbroken.ops.rehearse.job import Job
from unbroken.ops.rehearse.node_failure import node_failure
from unbroken.ops.rehearse.options import overlay
from unbroken.ops.stages import StageFailed
from unbroken.rehearsal.events import Event
from unbroken.rehearsal.faults import FAULTS
from unbroken.rehearsal.nodes import rootfs
from unbroken.rehearsal.nodes.cache import RootFsError

IDLE_SECONDS = 60.0
ACCOUNTED_SECONDS = 30.0


def run(context: Context) -> None:
    """Every stage in its order; destroy and what follows only where the cluster is not to be kept."""
    build_root_file_system(context)
    deployment.start_aws(context)
    deployment.bootstrap(context)
    deployment.deploy(context)
    slurm_idle(context)
    job = submit(context)
    try:
        train(context, job)
    finally:
        context.metrics = job.watch.metrics
    accounting(context, job)
    if context.options.keep:
        return
    deployment.destroy(context)
    deployment.look_for_leftovers(context)
    deployment.stop_aws(context)


def build_root_file_system(context: Context) -> None:
    """Build the nodes' root file system where it is not cached yet."""
    with context.stages.stage("rootfs", "Root file system of the nodes") as stage:
        try:
            stage.note = rootfs.ensure(stage.detail).name
        except RootFsError as error:
            raise StageFailed(str(error)) from error


def slurm_idle(context: Context) -> None:
    """Every worker is idle in Slurm."""
    groups = {group.name for group in context.config.worker_groups}
    cluster = context.cluster()
    workers = sorted(node.name for node in cluster.nodes() if node.group in groups)
    states: dict[str, str] = {}

    def idle() -> bool:
        states.update(cluster.slurm_states())
        return bool(workers) and all(states.get(name, "").startswith("idle") for name in workers)

    with context.stages.stage("slurm", "Slurm: every worker idle") as stage:
        try:
            wait_for("workers idle", idle, IDLE_SECONDS, poll=0.2)
        except TimeoutError as error:
            each = ", ".join(f"{name} {states.get(name, 'unknown')}" for name in workers)
            said = each if states else cluster.slurm_complaint()
            raise StageFailed(
                f"{error}: {said}", "`unbroken rehearse --keep`, then look at slurmctld"
            ) from None
        stage.note = counted(len(workers), "worker")
        context.events.emit("rehearse", "versions", "nodes", **node_versions(cluster))


def node_versions(cluster: Cluster) -> dict[str, str]:
    """Versions on the nodes, by the controller's own words."""
    done = cluster.shell("sinfo --version; . /etc/os-release; echo $PRETTY_NAME; python3 --version")
    slurm, system, python = [*done.stdout.splitlines(), "", "", ""][:3]
    found = {
        "Slurm": slurm.removeprefix("slurm-wlm ").removeprefix("slurm "),
        "node system": system,
        "node python": python.removeprefix("Python "),
    }
    return {name: version for name, version in found.items() if version}


def submit(context: Context) -> Job:
    """Write the rendered job to the shared file system and submit it as its user."""
    with context.stages.stage("job", "Submit the job") as stage:
        user = context.config.user.name
        files = render.job(context.config, overlay(context.options))
        job = Job(context.cluster(), context.events, user, render.job_directory(context.config))
        stage.note = f"job {job.submit(files)}, as {user}"
    return job


def train(context: Context, job: Job) -> None:
    """Train to a checkpoint, break a node, recover, train to the end."""
    if context.options.fault != "none":
        fault = FAULTS[context.options.fault]
        with context.stages.stage("training", "Train past the first checkpoint") as stage:
            node = drill.running_node(fault, job, stage)
            drill.until_checkpoint(job, stage)
        event: Event
        with context.stages.stage("fault", f"Fault: {fault.name} ({fault.kind})") as stage:
            event = drill.break_node(fault, node, job, context.events, stage)
        with context.stages.stage("recovery", "Recover") as stage:
            try:
                drill.recover(fault, job, context.events, event, stage)
            except StageFailed as error:
                raise node_failure(context.places, since=event.t) or error from None
    with context.stages.stage("finish", "Train to the end") as stage:
        job.until("completion", lambda watch: watch.state == "COMPLETED", drill.FINISH_SECONDS, stage.detail)
        stage.note = f"{counted(job.watch.step, 'step')}, loss {job.watch.metrics[-1]['loss']:.4f}"


def accounting(context: Context, job: Job) -> None:
    """Slurm's accounting knows the job, and how it ended."""
    with context.stages.stage("accounting", "Slurm accounting (sacct)") as stage:
        lines: list[str] = []

        def there() -> bool:
            lines[:] = job.accounting()
            return any("COMPLETED" in line for line in lines)

        try:
            wait_for("the job as COMPLETED in sacct", there, ACCOUNTED_SECONDS)
        except TimeoutError as error:
            raise StageFailed(f"{error}; it says: {'; '.join(lines) or 'nothing'}") from None
        stage.note = lines[-1]
