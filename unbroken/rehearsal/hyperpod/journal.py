"""Every change of a status: recorded, told as an event, written to nodes.json, and waiters woken."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from unbroken.rehearsal.hyperpod.states import Cluster, ClusterStatus, Node, NodeStatus, Sighting
from unbroken.rehearsal.hyperpod.world import World

_LEVELS = {NodeStatus.FAILURE: "Error", NodeStatus.SHUTTING_DOWN: "Warn"}


def set_cluster(world: World, cluster: Cluster, status: ClusterStatus, failure: str | None = None) -> None:
    """Give a cluster a status; the failure message stays until another replaces it."""
    with world.changed:
        cluster.status = status
        if failure is not None:
            cluster.failure = failure
        message = f"Cluster {cluster.name} is {status.value}."
        _tell(world, cluster, "Cluster", message, level="Error" if status is ClusterStatus.FAILED else "Info")
        write_nodes(world)
        world.changed.notify_all()
    world.events.emit(
        "hyperpod", "cluster_status", cluster.name, status=status.value, message=cluster.failure
    )


def set_node(
    world: World, cluster: Cluster, node: Node, status: NodeStatus, message: str | None = None
) -> None:
    """Give a node a status; without a message the old one stays, as it does on AWS."""
    with world.changed:
        kept = node.message if message is None else message
        node.history.append(Sighting(world.clock.now(), status, kept))
        _tell(
            world,
            cluster,
            "Instance",
            f"Instance {node.instance_id} is {status.value}. {kept}".rstrip(),
            level=_LEVELS.get(status, "Info"),
            node=node,
        )
        write_nodes(world)
        world.changed.notify_all()
    world.events.emit(
        "hyperpod",
        "instance_status",
        node.name,
        status=status.value,
        message=kept,
        group=node.group,
        instance_id=node.instance_id,
    )


def write_nodes(world: World) -> None:
    """Rewrite nodes.json in one step; call it with the lock held."""
    folder = world.settings.state_dir
    if folder is None:
        return
    rows = [_row(node) for cluster in world.clusters.values() for node in cluster.nodes]
    _replace(folder / "nodes.json", json.dumps(rows, indent=1) + "\n")


def _row(node: Node) -> dict[str, object]:
    return {
        "name": node.name,
        "group": node.group,
        "ip": node.address,
        "instance_id": node.instance_id,
        "inner_pid": node.machine.pid if node.machine is not None else 0,
        "status": node.status.value,
    }


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text)
    draft.replace(path)


def _tell(
    world: World, cluster: Cluster, resource: str, text: str, *, level: str, node: Node | None = None
) -> None:
    """Keep a ClusterEventSummary for ListClusterEvents; the newest 500 are kept, as on AWS."""
    event = {
        "EventId": str(uuid.uuid4()),
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ResourceType": resource,
        "EventTime": world.clock.now(),
        "Description": text,
        "EventLevel": level,
    }
    if node is not None:
        event |= {"InstanceGroupName": node.group, "InstanceId": node.instance_id}
    cluster.told.append(event)
    del cluster.told[:-500]
