"""The stages every rehearsal has: AWS up, bootstrap, deploy, destroy, nothing left behind, AWS down."""

from __future__ import annotations

from unbroken.ops.rehearse import leftovers
from unbroken.ops.rehearse.context import Context, tell_nodes
from unbroken.ops.rehearse.node_failure import node_failure
from unbroken.ops.stages import StageFailed
from unbroken.rehearsal.aws.process import ServerError
from unbroken.rehearsal.events import Follower


def start_aws(context: Context) -> None:
    """Start the embedded AWS."""
    with context.stages.stage("aws", "Start the embedded AWS") as stage:
        context.start_server()
        stage.note = f"port {context.server.port} on loopback"


def bootstrap(context: Context) -> None:
    """Make what cdk needs in every account."""
    with context.stages.stage("bootstrap", "cdk bootstrap") as stage:
        context.cdk().bootstrap(stage.detail)
        context.before = leftovers.take(context)


def deploy(context: Context) -> None:
    """Deploy all stacks; the nodes boot within."""
    with context.stages.stage("deploy", "cdk deploy --all") as stage:
        done: set[str] = set()
        follower = Follower(context.places.events)

        def stack_done(name: str) -> None:
            done.add(name)
            stage.detail(f"stack {name} deployed")

        try:
            context.cdk().deploy(stack_done, lambda: tell_nodes(follower, stage.detail))
        except StageFailed as error:
            raise node_failure(context.places) or error from None
        finally:
            stage.note = f"{len(done)} stacks"
        context.deployed = True


def destroy(context: Context) -> None:
    """Destroy all stacks."""
    with context.stages.stage("destroy", "cdk destroy --all") as stage:
        follower = Follower(context.places.events)
        list(follower.new())
        context.cdk().destroy(
            lambda name: stage.detail(f"stack {name} destroyed"), lambda: tell_nodes(follower, stage.detail)
        )


def look_for_leftovers(context: Context) -> None:
    """Compare the embedded AWS with what it held before; StageFailed lists what should be gone."""
    with context.stages.stage("leftovers", "Look for leftovers") as stage:
        left, kept = leftovers.compare(context)
        context.events.emit("rehearse", "leftovers", context.places.id, leftovers=left, kept=kept)
        stage.note = f"{len(left)} left behind, {len(kept)} kept on purpose"
        if left:
            raise StageFailed(
                f"cdk destroy left {len(left)} behind: {', '.join(left[:5])}",
                "a resource of these stacks lacks its removal policy, or something made it outside of them",
            )


def stop_aws(context: Context) -> None:
    """Stop the embedded AWS."""
    with context.stages.stage("stop", "Stop the embedded AWS"):
        try:
            context.server.stop()
        except ServerError as error:
            raise StageFailed(str(error), "", context.server.log) from error
