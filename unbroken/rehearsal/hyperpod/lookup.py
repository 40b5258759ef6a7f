"""Finding clusters and nodes, and the checks that every changing operation starts with."""

from __future__ import annotations

from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.states import SETTLED, Cluster, ClusterStatus, Node
from unbroken.rehearsal.hyperpod.world import World


def cluster(world: World, name_or_arn: str) -> Cluster:
    """The cluster; raises ResourceNotFound. Call it with the lock held."""
    for known in world.clusters.values():
        if name_or_arn in (known.name, known.arn):
            return known
    raise ServiceError("ResourceNotFound", messages.NO_CLUSTER.format(name=name_or_arn))


def settled_cluster(world: World, name_or_arn: str) -> Cluster:
    """The cluster, with no operation on the whole of it running; raises ConflictException otherwise."""
    found = cluster(world, name_or_arn)
    if found.status not in SETTLED:
        raise ServiceError("ConflictException", _status(messages.IN_PROGRESS, found))
    return found


def cluster_in_service(world: World, name_or_arn: str) -> Cluster:
    """The cluster, in service; raises ValidationException otherwise."""
    found = cluster(world, name_or_arn)
    if found.status is not ClusterStatus.IN_SERVICE:
        raise ServiceError("ValidationException", _status(messages.NOT_IN_SERVICE, found))
    return found


def node_by_id(found: Cluster, node_id: str) -> Node | None:
    """A cluster's node by instance id or logical id."""
    return next((n for n in found.nodes if node_id in (n.instance_id, n.instance_name)), None)


def node_by_name(world: World, cluster_name: str, node_name: str) -> tuple[Cluster, Node] | None:
    """A node by host name; an empty cluster name looks through all clusters."""
    for found in world.clusters.values():
        if cluster_name in ("", found.name, found.arn):
            for node in found.nodes:
                if node.name == node_name:
                    return found, node
    return None


def _status(text: str, found: Cluster) -> str:
    return text.format(name=found.name, status=found.status.value)
