"""The SageMaker API on the wire (JSON 1.1), as far as it is about clusters."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.service import Answer, HyperPodService, Request

_METHODS: dict[str, Callable[[HyperPodService, Request], Answer]] = {
    "CreateCluster": HyperPodService.create_cluster,
    "UpdateCluster": HyperPodService.update_cluster,
    "UpdateClusterSoftware": HyperPodService.update_cluster_software,
    "DeleteCluster": HyperPodService.delete_cluster,
    "DescribeCluster": HyperPodService.describe_cluster,
    "ListClusters": HyperPodService.list_clusters,
    "ListClusterNodes": HyperPodService.list_cluster_nodes,
    "DescribeClusterNode": HyperPodService.describe_cluster_node,
    "BatchReplaceClusterNodes": HyperPodService.batch_replace_cluster_nodes,
    "BatchRebootClusterNodes": HyperPodService.batch_reboot_cluster_nodes,
    "BatchAddClusterNodes": HyperPodService.batch_add_cluster_nodes,
    "BatchDeleteClusterNodes": HyperPodService.batch_delete_cluster_nodes,
    "ListClusterEvents": HyperPodService.list_cluster_events,
    "DescribeClusterEvent": HyperPodService.describe_cluster_event,
    "DescribeTrainingPlan": HyperPodService.describe_training_plan,
    "ListTrainingPlans": HyperPodService.list_training_plans,
}


def operations() -> list[str]:
    """The operations that are answered."""
    return sorted(_METHODS)


def handle(service: HyperPodService, operation: str, body: bytes) -> tuple[int, dict[str, Any]]:
    """Answer one request: HTTP status and the JSON body.

    ``operation`` is what follows ``SageMaker.`` in the X-Amz-Target header.
    """
    method = _METHODS.get(operation)
    if method is None:
        return 400, _error("UnknownOperationException", f"The rehearsal does not emulate {operation}.")
    try:
        request = json.loads(body or b"{}")
    except ValueError:
        return 400, _error("SerializationException", "The request body is not JSON.")
    if not isinstance(request, dict):
        return 400, _error("SerializationException", "The request body is not a JSON object.")
    try:
        return 200, method(service, request)
    except ServiceError as error:
        return 400, _error(error.code, error.message)


def _error(code: str, message: str) -> dict[str, Any]:
    # The SageMaker model spells it Message, common errors message; clients read either.
    return {"__type": code, "message": message, "Message": message}
