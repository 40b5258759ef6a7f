"""Replacing and rebooting one node when a person or the cluster agent asks, and noticing dead machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from unbroken.rehearsal.hyperpod import addresses, fleet, journal, lookup, messages, node_setup
from unbroken.rehearsal.hyperpod.boot import end_machine
from unbroken.rehearsal.hyperpod.machines import MachineError
from unbroken.rehearsal.hyperpod.states import Cluster, ClusterStatus, Node, NodeStatus
from unbroken.rehearsal.hyperpod.world import World

REPLACE_REASON = "Action:Replace"
REBOOT_REASON = "Action:Reboot"
RECOVERABLE = frozenset({NodeStatus.RUNNING, NodeStatus.FAILURE})
Operation = Callable[[World, Cluster, Node], None]


def replace(world: World, cluster: Cluster, node: Node) -> None:
    """A new instance under the same name and address: fresh root, new id, lifecycle script again."""
    journal.set_node(world, cluster, node, NodeStatus.PENDING)
    end_machine(node)
    world.clock.sleep(world.settings.replacement_seconds)
    with world.changed:
        node.machine = None
        node.instance_id = addresses.new_instance_id()
        node.launched = world.clock.now()
    journal.set_node(world, cluster, node, NodeStatus.PENDING)
    node_setup.push_resource_config(world, cluster)
    fleet.attach_file_systems(world)
    fleet.bring_up(world, cluster, node, replacement=True)


def reboot(world: World, cluster: Cluster, node: Node) -> None:
    """The same instance on the same root; the lifecycle script does not run."""
    journal.set_node(world, cluster, node, NodeStatus.PENDING)
    try:
        if node.machine is None:
            raise MachineError(f"{node.name} has no machine")
        node.machine.reboot()
    except MachineError as error:
        journal.set_node(world, cluster, node, NodeStatus.FAILURE, f"{messages.MACHINE_FAILED} {error}")
        return
    journal.set_node(world, cluster, node, NodeStatus.RUNNING, "")


_BY_REASON: dict[str, tuple[str, Operation]] = {
    REPLACE_REASON: ("Replace", replace),
    REBOOT_REASON: ("Reboot", reboot),
}


def hold(world: World, cluster: Cluster, node: Node, name: str, operation: Operation) -> None:
    """Take the node and run the operation in the background; call it with the lock held."""
    node.operation = name

    def work() -> None:
        try:
            operation(world, cluster, node)
        finally:
            with world.changed:
                node.operation, node.released = None, world.clock.now()
                world.changed.notify_all()

    world.spawn(f"{name.lower()}-{node.name}", work)


def requested(world: World, cluster_name: str, node_name: str, reason: str) -> dict[str, Any]:
    """Act on the cluster agent's request, or say why not."""
    if reason not in _BY_REASON:
        return {"accepted": False, "message": ""}  # near misses are ignored without a word, as on AWS
    with world.changed:
        found = lookup.node_by_name(world, cluster_name, node_name)
        if found is None:
            text = messages.NO_NODE.format(node=node_name, name=cluster_name or "(any)")
            return {"accepted": False, "message": text}
        refusal = _refusal(world, *found)
        if refusal:
            return {"accepted": False, "message": refusal}
        hold(world, *found, *_BY_REASON[reason])
    return {"accepted": True, "message": f"{reason} of {node_name} begins"}


def _refusal(world: World, cluster: Cluster, node: Node) -> str:
    """Why the service does not recover a node by itself; empty if it does."""
    if not cluster.recovers:
        return (
            f"NodeRecovery of cluster {cluster.name} is None: nodes are marked, never replaced or rebooted."
        )
    if cluster.status is ClusterStatus.DELETING:
        return messages.IN_PROGRESS.format(name=cluster.name, status=cluster.status.value)
    if cluster.is_controller(node):
        return messages.CONTROLLER_NODE.format(node=node.name)
    if node.operation is not None:
        return messages.NODE_BUSY.format(node=node.name)
    if node.status not in RECOVERABLE:
        return messages.NODE_STATUS.format(node=node.name, status=node.status.value)
    return messages.NODE_ECHO.format(node=node.name) if _is_echo(world, node) else ""


def _is_echo(world: World, node: Node) -> bool:
    """Whether the agent only saw the node away during an operation that has just ended well."""
    recent = world.clock.now() - node.released < world.settings.echo_seconds
    return recent and node.status is NodeStatus.RUNNING and node.machine is not None and node.machine.alive()


def poll(world: World) -> None:
    """Show machines that died by themselves as failed. Nothing is done about it before somebody asks."""
    with world.changed:
        watched = [
            (cluster, node)
            for cluster in world.clusters.values()
            for node in cluster.nodes
            if node.status is NodeStatus.RUNNING and node.operation is None
        ]
    for cluster, node in watched:
        machine = node.machine
        if machine is not None and not machine.alive():
            _mark_dead(world, cluster, node)


def _mark_dead(world: World, cluster: Cluster, node: Node) -> None:
    with world.changed:
        if node.operation is not None or node.status is not NodeStatus.RUNNING:
            return
        journal.set_node(world, cluster, node, NodeStatus.FAILURE, messages.UNREACHABLE)
