"""BatchReplaceClusterNodes and BatchRebootClusterNodes: what is refused as a whole, and what node by node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.hyperpod import lookup, messages, recovery, schema
from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.states import Cluster, Node
from unbroken.rehearsal.hyperpod.world import World

_LIMIT = 25
_OPERATIONS: dict[str, tuple[str, recovery.Operation]] = {
    "BatchReplaceClusterNodes": ("Replace", recovery.replace),
    "BatchRebootClusterNodes": ("Reboot", recovery.reboot),
}
Failure = tuple[str, str]
"""Error code and message."""


def run(world: World, api_operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Start what can be started; the answer lists both kinds."""
    schema.check_request(api_operation, request)
    by_id, by_logical_id = request.get("NodeIds", []), request.get("NodeLogicalIds", [])
    if not 1 <= len(by_id) + len(by_logical_id) <= _LIMIT:
        raise validation(
            f"Between 1 and {_LIMIT} nodes must be given, found {len(by_id) + len(by_logical_id)}."
        )
    with world.changed:
        cluster = lookup.cluster_in_service(world, request["ClusterName"])
        if world.settings.require_patched and not cluster.patched:
            raise validation(messages.NEVER_PATCHED.format(name=cluster.name))
        results = {node_id: _start(world, cluster, node_id, api_operation) for node_id in by_id}
        logical = {node_id: _start(world, cluster, node_id, api_operation) for node_id in by_logical_id}
    return _answer(results, logical)


def _start(world: World, cluster: Cluster, node_id: str, api_operation: str) -> Failure | None:
    node = lookup.node_by_id(cluster, node_id)
    failure = _refusal(cluster, node, node_id, api_operation)
    if failure is None and node is not None:
        recovery.hold(world, cluster, node, *_OPERATIONS[api_operation])
    return failure


def _refusal(cluster: Cluster, node: Node | None, node_id: str, api_operation: str) -> Failure | None:
    if node is None:
        return "InstanceIdNotFound", messages.NO_NODE.format(node=node_id, name=cluster.name)
    if node.operation is not None:
        return "InstanceIdInUse", messages.NODE_BUSY.format(node=node_id)
    if api_operation == "BatchReplaceClusterNodes" and cluster.is_controller(node):
        return "InvalidInstanceStatus", messages.CONTROLLER_NODE.format(node=node_id)
    if node.status not in recovery.RECOVERABLE:
        return "InvalidInstanceStatus", messages.NODE_STATUS.format(node=node_id, status=node.status.value)
    return None


def _answer(results: dict[str, Failure | None], logical: dict[str, Failure | None]) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "Successful": [node_id for node_id, failure in results.items() if failure is None],
        "Failed": _failures("NodeId", results),
        "SuccessfulNodeLogicalIds": [node_id for node_id, failure in logical.items() if failure is None],
        "FailedNodeLogicalIds": _failures("NodeLogicalId", logical),
    }
    return {key: value for key, value in answer.items() if value}


def _failures(key: str, results: dict[str, Failure | None]) -> list[dict[str, str]]:
    return [
        {key: node_id, "ErrorCode": failure[0], "Message": failure[1]}
        for node_id, failure in results.items()
        if failure is not None
    ]
