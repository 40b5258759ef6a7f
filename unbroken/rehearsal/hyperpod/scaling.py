"""BatchAddClusterNodes and BatchDeleteClusterNodes: single nodes more or less, told one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.hyperpod import continuous, fleet, lookup, messages, node_setup, plans, schema
from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.recovery import RECOVERABLE
from unbroken.rehearsal.hyperpod.states import Cluster, Group, Node
from unbroken.rehearsal.hyperpod.world import World

MOST_ADDED = 50
MOST_DELETED = 50
"""Together, where logical ids are among them (API reference, NodeLogicalIds)."""
MOST_DELETED_BY_ID = 99
"""More than that is AWS Support's to do (API reference, NodeIds)."""
Failure = tuple[str, str]
"""Error code and message."""


def add(world: World, request: Mapping[str, Any]) -> dict[str, Any]:
    """Raise target counts and boot the new nodes in the background, again and again until they run."""
    schema.check_request("BatchAddClusterNodes", request)
    wanted = request["NodesToAdd"]
    if sum(item["IncrementTargetCountBy"] for item in wanted) > MOST_ADDED:
        raise validation(f"At most {MOST_ADDED} nodes can be added in one call.")
    with world.changed:
        cluster = lookup.cluster_in_service(world, request["ClusterName"])
        if not cluster.continuous:
            raise validation(messages.ADDING_NEEDS_CONTINUOUS.format(name=cluster.name))
        before = {name: group.target for name, group in cluster.groups.items()}
        known = [item for item in wanted if item["InstanceGroupName"] in cluster.groups]
        added = _added(world, cluster, {i["InstanceGroupName"]: i["IncrementTargetCountBy"] for i in known})
    world.spawn("continuous", lambda: _grow(world, cluster, added, before))
    failed = [_unknown_group(item) for item in wanted if item not in known]
    return {"Successful": [_pending(node) for node in added], "Failed": failed}


def _added(world: World, cluster: Cluster, more: Mapping[str, int]) -> list[Node]:
    if cluster.slurm.controller_group in more:
        raise validation("The rehearsal emulates one controller node, not several.")
    groups = [cluster.groups[name] for name in more]
    grown = [Group(_with_count(g, g.target + more[g.name]), g.network) for g in groups]
    plans.check(world, cluster, grown)
    nodes = fleet.plan(world, cluster, more)
    for group, larger in zip(groups, grown, strict=True):
        group.spec, group.status = larger.spec, "Updating"
    return nodes


def _with_count(group: Group, count: int) -> Mapping[str, Any]:
    minimum = {"MinInstanceCount": min(group.minimum, count)} if group.minimum else {}
    return {**group.spec, "InstanceCount": count, **minimum}


def _grow(world: World, cluster: Cluster, nodes: list[Node], before: Mapping[str, int]) -> None:
    node_setup.push_resource_config(world, cluster)
    fleet.attach_file_systems(world)
    continuous.fill(world, cluster, nodes, before)


def _pending(node: Node) -> dict[str, str]:
    return {
        "NodeLogicalId": node.instance_name,
        "InstanceGroupName": node.group,
        "Status": node.status.value,
    }


def _unknown_group(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "InstanceGroupName": item["InstanceGroupName"],
        "ErrorCode": "InstanceGroupNotFound",
        "FailedCount": item["IncrementTargetCountBy"],
        "Message": f"Instance group {item['InstanceGroupName']} does not exist.",
    }


def delete(world: World, request: Mapping[str, Any]) -> dict[str, Any]:
    """Take named nodes out of the cluster and lower their groups' target counts."""
    schema.check_request("BatchDeleteClusterNodes", request)
    by_id, by_logical_id = request.get("NodeIds", []), request.get("NodeLogicalIds", [])
    _check_number(len(by_id), len(by_logical_id))
    with world.changed:
        cluster = lookup.cluster_in_service(world, request["ClusterName"])
        if world.settings.require_patched and not cluster.patched:
            raise validation(messages.NEVER_PATCHED.format(name=cluster.name))
        refused = {one: _refusal(cluster, one) for one in (*by_id, *by_logical_id)}
        leaving = [lookup.node_by_id(cluster, one) for one, failure in refused.items() if failure is None]
        going = list({id(node): node for node in leaving if node is not None}.values())
        for node in going:
            node.operation = "Delete"
    world.spawn("delete-nodes", lambda: _shrink(world, cluster, going))
    return _answer(refused, by_id, by_logical_id)


def _check_number(ids: int, logical_ids: int) -> None:
    most = MOST_DELETED if logical_ids else MOST_DELETED_BY_ID
    if not 1 <= ids + logical_ids <= most:
        raise validation(f"Between 1 and {most} nodes must be given, found {ids + logical_ids}.")


def _refusal(cluster: Cluster, node_id: str) -> Failure | None:
    node = lookup.node_by_id(cluster, node_id)
    if node is None:
        return "NodeIdNotFound", messages.NO_NODE.format(node=node_id, name=cluster.name)
    if cluster.is_controller(node):
        return "InvalidNodeStatus", messages.CONTROLLER_NODE_STAYS.format(node=node_id)
    if node.operation is not None:
        return "NodeIdInUse", messages.NODE_BUSY.format(node=node_id)
    if node.status not in RECOVERABLE:
        return "InvalidNodeStatus", messages.NODE_STATUS.format(node=node_id, status=node.status.value)
    return None


def _shrink(world: World, cluster: Cluster, going: list[Node]) -> None:
    """Slurm forgets the nodes before their instances end."""
    with world.changed:
        for node in going:
            group = cluster.groups[node.group]
            group.spec = _with_count(group, group.target - 1)
    fleet.mark_leaving(world, cluster, going)
    node_setup.push_resource_config(world, cluster)
    fleet.take_down(world, cluster, going)


def _answer(refused: Mapping[str, Failure | None], ids: list[str], logical_ids: list[str]) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "Successful": [one for one in ids if refused[one] is None],
        "Failed": _failures("NodeId", refused, ids),
        "SuccessfulNodeLogicalIds": [one for one in logical_ids if refused[one] is None],
        "FailedNodeLogicalIds": _failures("NodeLogicalId", refused, logical_ids),
    }
    return {key: value for key, value in answer.items() if value}


def _failures(key: str, refused: Mapping[str, Failure | None], names: list[str]) -> list[dict[str, str]]:
    return [
        {key: name, "Code": failure[0], "Message": failure[1]}
        for name in names
        if (failure := refused[name]) is not None
    ]
