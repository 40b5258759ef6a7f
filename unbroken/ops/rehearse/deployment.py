"""The stages every rehearsal has: AWS up, bootstrap, deploy, destroy, nothing left behind, AWS down."""

from __future__ import annotations

from unbroken.checks.result import counted
from unbroken.ops.down.parts import parts
from unbroken.ops.down.take_down import take_down
from unbroken.ops.rehearse import leftovers
from unbroken.ops.rehearse.context import Context
from unbroken.ops.stages import StageFailed
from unbroken.ops.synth import synth
from unbroken.ops.up.deploy import deploy as up
from unbroken.rehearsal.aws import environment as embedded
from unbroken.rehearsal.aws.process import ServerError


def start_aws(context: Context) -> None:
    """Start the embedded AWS."""
    with context.stages.stage("aws", "Start the embedded AWS") as stage:
        context.start_server()
        stage.note = f"port {context.server.port} on loopback"


def bootstrap(context: Context) -> None:
    """Make what cdk needs in every account."""
    with context.stages.stage("bootstrap", "cdk bootstrap"):
        context.cdk().bootstrap(embedded.ACCOUNT, context.config.region)
        context.before = leftovers.take(context)


def deploy(context: Context) -> None:
    """Deploy all stacks as `unbroken up` does; the nodes boot within."""
    with context.stages.stage("deploy", "cdk deploy --all") as stage:
        stage.detail("making the templates")
        assembly = synth(context.root, context.cluster_file(), context.places.cdk_out)
        up(context.target(), context.cdk(), assembly, context.config, stage.detail)
        stage.note = counted(len(assembly.areas), "stack")
        context.deployed = True


def destroy(context: Context) -> None:
    """Take all stacks down as `unbroken down` does."""
    target = context.target()
    with context.stages.stage("destroy", "Take the stacks down") as stage:
        found = parts(target, context.config.name)
        take_down(target, context.config, found, stage.detail)
        stage.note = counted(len(found), "stack")


def look_for_leftovers(context: Context) -> None:
    """Compare the embedded AWS with what it held before; StageFailed lists what should be gone."""
    with context.stages.stage("leftovers", "Look for leftovers") as stage:
        left, kept = leftovers.compare(context)
        context.events.emit("rehearse", "leftovers", context.places.id, leftovers=left, kept=kept)
        stage.note = f"{len(left)} left behind, {len(kept)} kept on purpose"
        if left:
            raise StageFailed(
                f"the end left {len(left)} behind: {', '.join(left[:5])}",
                "a resource of these stacks lacks its removal policy, or something made it outside of them",
            )


def stop_aws(context: Context) -> None:
    """Stop the embedded AWS."""
    with context.stages.stage("stop", "Stop the embedded AWS"):
        try:
            context.server.stop()
        except ServerError as error:
            raise StageFailed(str(error), "", context.server.log) from error
