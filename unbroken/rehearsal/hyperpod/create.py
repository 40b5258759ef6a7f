"""CreateCluster and DeleteCluster, from the checks to the end of the work."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.hyperpod import (
    addresses,
    continuous,
    fleet,
    journal,
    lookup,
    messages,
    network_rules,
    plans,
    rules,
    schema,
    slurm_rules,
)
from unbroken.rehearsal.hyperpod.errors import ServiceError, validation
from unbroken.rehearsal.hyperpod.states import Cluster, ClusterStatus, Group, Node
from unbroken.rehearsal.hyperpod.world import World

_MUNGE_KEY_BYTES = 128


def create(world: World, request: Mapping[str, Any]) -> dict[str, Any]:
    """Check everything, register the cluster in Creating, and go on in the background."""
    schema.check_request("CreateCluster", request)
    with world.changed:
        _check_name_free(world, request["ClusterName"])
    cluster = _checked(world, request)
    with world.changed:
        _check_name_free(world, cluster.name)
        counts = {name: group.target for name, group in cluster.groups.items()}
        nodes = fleet.plan(world, cluster, counts)
        world.clusters[cluster.name] = cluster
    journal.set_cluster(world, cluster, ClusterStatus.CREATING)
    world.spawn("create", lambda: _build(world, cluster, nodes))
    return {"ClusterArn": cluster.arn}


def _check_name_free(world: World, name: str) -> None:
    if name in world.clusters:
        raise ServiceError("ResourceInUse", messages.NAME_IN_USE.format(name=name))


def _checked(world: World, request: Mapping[str, Any]) -> Cluster:
    """The cluster the request describes; raises ServiceError for what the service refuses."""
    specs = list(request.get("InstanceGroups", []))
    if not specs or "VpcConfig" not in request:
        raise validation("The rehearsal needs InstanceGroups and VpcConfig.")
    mode = request.get("NodeProvisioningMode") == "Continuous"
    rules.check_emulated(request)
    rules.check_groups(specs, continuous=mode)
    rules.check_roles(world.aws, specs)
    slurm_rules.check_orchestrator(request, continuous=mode)
    network = network_rules.network(world.aws, request["VpcConfig"])
    networks = network_rules.networks(world.aws, specs, network)
    cluster_id = addresses.new_cluster_id()
    cluster = Cluster(
        name=request["ClusterName"],
        cluster_id=cluster_id,
        arn=addresses.cluster_arn(world.settings.region, world.settings.account_id, cluster_id),
        created=world.clock.now(),
        request={key: value for key, value in request.items() if key != "InstanceGroups"},
        groups={
            spec["InstanceGroupName"]: Group(spec, networks[spec["InstanceGroupName"]]) for spec in specs
        },
        slurm=slurm_rules.parts(world.aws, request, specs),
        munge_key=secrets.token_bytes(_MUNGE_KEY_BYTES),
        network=network,
    )
    plans.check(world, cluster, cluster.groups.values())
    return cluster


def _build(world: World, cluster: Cluster, nodes: list[Node]) -> None:
    first, later = continuous.split(cluster, nodes)
    failed = fleet.launch(world, cluster, first)
    if failed:
        _give_up(world, cluster, failed[0].message)
        return
    _settle_groups(cluster)
    with world.changed:
        cluster.last_ok = True
    journal.set_cluster(world, cluster, ClusterStatus.IN_SERVICE)
    if later:
        world.spawn("continuous", lambda: continuous.fill(world, cluster, later, previous={}))


def _give_up(world: World, cluster: Cluster, message: str) -> None:
    """A cluster that failed to come up keeps its record, so that it can be looked at and deleted."""
    with world.changed:
        cluster.last_ok = False
    journal.set_cluster(world, cluster, ClusterStatus.ROLLING_BACK, message)
    fleet.take_down(world, cluster, cluster.nodes)
    for group in cluster.groups.values():
        group.status = "Failed"
    journal.set_cluster(world, cluster, ClusterStatus.FAILED, message)


def _settle_groups(cluster: Cluster) -> None:
    for group in cluster.groups.values():
        if len(cluster.members(group.name)) == group.target and not (cluster.continuous and group.minimum):
            group.status = "InService"


def delete(world: World, request: Mapping[str, Any]) -> dict[str, Any]:
    """Check, mark the cluster Deleting, and take all of it down in the background."""
    schema.check_request("DeleteCluster", request)
    with world.changed:
        cluster = lookup.settled_cluster(world, request["ClusterName"])
        for group in cluster.groups.values():
            group.status = "Deleting"
        cluster.status = ClusterStatus.DELETING
    journal.set_cluster(world, cluster, ClusterStatus.DELETING)
    world.spawn("delete", lambda: _remove(world, cluster))
    return {"ClusterArn": cluster.arn}


def _remove(world: World, cluster: Cluster) -> None:
    fleet.take_down(world, cluster, cluster.nodes)
    with world.changed:
        del world.clusters[cluster.name]
        journal.write_nodes(world)
        world.changed.notify_all()
    world.events.emit("hyperpod", "cluster_status", cluster.name, status="Deleted", message="")
