"""UpdateClusterSoftware: nodes get a fresh root under the same instance id and run their scripts again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.hyperpod import fleet, journal, lookup, messages, schema
from unbroken.rehearsal.hyperpod.errors import ServiceError, validation
from unbroken.rehearsal.hyperpod.states import Cluster, ClusterStatus, Group, Node, NodeStatus
from unbroken.rehearsal.hyperpod.world import World


def update(world: World, request: Mapping[str, Any]) -> dict[str, Any]:
    """Check, mark cluster and nodes SystemUpdating, and go on in the background."""
    schema.check_request("UpdateClusterSoftware", request)
    with world.changed:
        cluster = lookup.settled_cluster(world, request["ClusterName"])
        groups = _chosen(cluster, request)
        nodes = [node for group in groups for node in cluster.members(group.name)]
        _hold(nodes)
        for group in groups:
            group.software_update = "Pending"
        cluster.status = ClusterStatus.SYSTEM_UPDATING
    journal.set_cluster(world, cluster, ClusterStatus.SYSTEM_UPDATING)
    world.spawn("software", lambda: _work(world, cluster, groups, nodes))
    return {"ClusterArn": cluster.arn}


def _chosen(cluster: Cluster, request: Mapping[str, Any]) -> list[Group]:
    if cluster.status is ClusterStatus.FAILED:
        raise validation(f"Cluster {cluster.name} is in Failed state and cannot be updated.")
    names = [item["InstanceGroupName"] for item in request.get("InstanceGroups", [])] or list(cluster.groups)
    unknown = sorted(set(names) - set(cluster.groups))
    if unknown:
        raise validation(f"Instance groups {', '.join(unknown)} do not exist in cluster {cluster.name}.")
    return [cluster.groups[name] for name in names]


def _hold(nodes: list[Node]) -> None:
    busy = [node.instance_id for node in nodes if node.operation is not None]
    if busy:
        raise ServiceError("ConflictException", messages.NODE_BUSY.format(node=", ".join(busy)))
    for node in nodes:
        node.operation = "UpdateClusterSoftware"


def _work(world: World, cluster: Cluster, groups: list[Group], nodes: list[Node]) -> None:
    for group in groups:
        group.software_update = "InProgress"
    first = [node for node in nodes if cluster.is_controller(node)]
    rest = [node for node in nodes if not cluster.is_controller(node)]
    failed = _renew(world, cluster, first) or _renew(world, cluster, rest)
    states = (
        _roll_back(world, cluster, groups, failed) if failed else dict.fromkeys(_names(groups), "Succeeded")
    )
    with world.changed:
        for group in groups:
            group.software_update = states[group.name]
        for node in nodes:
            node.operation, node.released = None, world.clock.now()
        cluster.last_ok = not failed
        cluster.patched = cluster.patched or not failed
    message = messages.LIFECYCLE_FAILED if failed else None
    journal.set_cluster(world, cluster, ClusterStatus.IN_SERVICE, message)


def _names(groups: list[Group]) -> list[str]:
    return [group.name for group in groups]


def _renew(world: World, cluster: Cluster, nodes: list[Node]) -> list[Node]:
    """Boot nodes afresh, each several times if need be; returns those that did not come up."""
    for node in nodes:
        journal.set_node(world, cluster, node, NodeStatus.SYSTEM_UPDATING)
    for _ in range(world.settings.software_update_attempts):
        failed = fleet.bring_up_all(world, cluster, nodes)
        for node in nodes:
            if node not in failed:
                node.software_updated = world.clock.now()
        nodes = failed
        if not nodes:
            break
    return nodes


def _roll_back(world: World, cluster: Cluster, groups: list[Group], failed: list[Node]) -> dict[str, str]:
    """Boot the failed nodes on the old image; each group's end state."""
    touched = {node.group for node in failed}
    for group in groups:
        if group.name in touched:
            group.software_update = "RollbackInProgress"
    still = {node.group for node in fleet.bring_up_all(world, cluster, failed)}
    return {
        name: "Failed" if name in still else "RollbackComplete" if name in touched else "Succeeded"
        for name in _names(groups)
    }
