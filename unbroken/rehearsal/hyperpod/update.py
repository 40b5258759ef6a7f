"""UpdateCluster: groups grow, shrink, come and go; a node that fails takes the whole update back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.rehearsal.hyperpod import (
    continuous,
    drift,
    fleet,
    journal,
    lookup,
    network_rules,
    node_setup,
    plans,
    rules,
    schema,
    slurm_rules,
    update_rules,
)
from unbroken.rehearsal.hyperpod.states import Cluster, ClusterStatus, Group, Network, Node, Slurm
from unbroken.rehearsal.hyperpod.world import World

_WHOLE = ("NodeRecovery", "NodeProvisioningMode", "Orchestrator", "ClusterRole", "TieredStorageConfig")


@dataclass(frozen=True)
class _Change:
    """What an update is about to do, and what was before."""

    before: dict[str, Mapping[str, Any]]
    slurm: Slurm
    """Before."""
    added: list[Node]
    leaving: list[Node]
    deleted: list[str]

    def counts(self) -> dict[str, int]:
        """InstanceCount of each group before."""
        return {name: spec["InstanceCount"] for name, spec in self.before.items()}


def update(world: World, request: Mapping[str, Any]) -> dict[str, Any]:
    """Check, mark the cluster Updating, and go on in the background."""
    schema.check_request("UpdateCluster", request)
    rules.check_emulated(request)
    specs = list(request.get("InstanceGroups", []))
    with world.changed:
        cluster = lookup.settled_cluster(world, request["ClusterName"])
    rules.check_groups(specs, continuous=cluster.continuous)
    rules.check_roles(world.aws, specs)
    networks = network_rules.networks(world.aws, specs, cluster.network)
    drift.check(cluster)
    with world.changed:
        lookup.settled_cluster(world, request["ClusterName"])
        update_rules.check(cluster, specs, request)
        change = _apply(world, cluster, specs, networks, request)
        cluster.status = ClusterStatus.UPDATING
    journal.set_cluster(world, cluster, ClusterStatus.UPDATING)
    world.spawn("update", lambda: _work(world, cluster, change))
    return {"ClusterArn": cluster.arn}


def _apply(
    world: World,
    cluster: Cluster,
    specs: list[Mapping[str, Any]],
    networks: Mapping[str, Network],
    request: Mapping[str, Any],
) -> _Change:
    """Fold the request into the cluster's record and plan the nodes; call it with the lock held."""
    before, slurm = {name: group.spec for name, group in cluster.groups.items()}, cluster.slurm
    deleted = list(request.get("InstanceGroupsToDelete", []))
    leaving = [node for name in deleted for node in cluster.members(name)]
    missing: dict[str, int] = {}
    for spec in specs:
        name, have = spec["InstanceGroupName"], cluster.members(spec["InstanceGroupName"])
        missing[name] = max(0, spec["InstanceCount"] - len(have))
        leaving += have[spec["InstanceCount"] :]
    added = _planned(world, cluster, specs, networks, missing)
    cluster.slurm = _parts(cluster, deleted)
    cluster.request |= {key: request[key] for key in _WHOLE if key in request}
    return _Change(before, slurm, added, leaving, deleted)


def _planned(
    world: World,
    cluster: Cluster,
    specs: list[Mapping[str, Any]],
    networks: Mapping[str, Network],
    missing: dict[str, int],
) -> list[Node]:
    """The new nodes; whatever is refused, is refused before anything is changed."""
    fresh = {name: Group(spec, networks[name]) for spec in specs for name in [spec["InstanceGroupName"]]}
    plans.check(world, cluster, fresh.values())
    before = dict(cluster.groups)
    cluster.groups |= {name: group for name, group in fresh.items() if name not in before}
    try:
        if cluster.slurm.by_api:
            slurm_rules.by_api([fresh.get(name, group).spec for name, group in cluster.groups.items()])
        added = fleet.plan(world, cluster, missing)
    except Exception:
        cluster.groups = before
        raise
    for name, group in fresh.items():
        known = cluster.groups[name]
        known.spec, known.network, known.status = group.spec, group.network, "Updating"
    return added


def _parts(cluster: Cluster, deleted: list[str]) -> Slurm:
    """Which group is what in Slurm from now on; with provisioning parameters, the bundle's file says."""
    if not cluster.slurm.by_api:
        return cluster.slurm
    return slurm_rules.by_api([group.spec for name, group in cluster.groups.items() if name not in deleted])


def _work(world: World, cluster: Cluster, change: _Change) -> None:
    node_setup.push_resource_config(world, cluster)
    first, later = continuous.split(cluster, change.added)
    failed = fleet.launch(world, cluster, first)
    if failed:
        _roll_back(world, cluster, change, failed[0].message)
        return
    _let_go(world, cluster, change.leaving)
    with world.changed:
        for name in change.deleted:
            del cluster.groups[name]
        cluster.last_ok = True
        _settle(cluster, {node.group for node in later})
    node_setup.push_resource_config(world, cluster)
    journal.set_cluster(world, cluster, ClusterStatus.IN_SERVICE)
    if later:
        before = change.counts()
        world.spawn("continuous", lambda: continuous.fill(world, cluster, later, before))


def _let_go(world: World, cluster: Cluster, leaving: list[Node]) -> None:
    """Slurm forgets the nodes before their instances end."""
    fleet.mark_leaving(world, cluster, leaving)
    if leaving:
        node_setup.push_resource_config(world, cluster)
    fleet.take_down(world, cluster, leaving)


def _roll_back(world: World, cluster: Cluster, change: _Change, message: str) -> None:
    with world.changed:
        cluster.last_ok = False
    journal.set_cluster(world, cluster, ClusterStatus.ROLLING_BACK, message)
    fleet.take_down(world, cluster, change.added)
    with world.changed:
        cluster.groups = {name: cluster.groups[name] for name in change.before}
        cluster.slurm = change.slurm
        for name, spec in change.before.items():
            cluster.groups[name].spec = spec
        _settle(cluster, set())
    node_setup.push_resource_config(world, cluster)
    journal.set_cluster(world, cluster, ClusterStatus.IN_SERVICE, message)


def _settle(cluster: Cluster, unfinished: set[str]) -> None:
    for group in cluster.groups.values():
        group.status = "Updating" if group.name in unfinished else "InService"
