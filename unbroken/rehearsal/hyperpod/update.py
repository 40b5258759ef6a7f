"""UpdateCluster: groups grow, shrink, come and go; a node that fails takes the whole update back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.rehearsal.hyperpod import continuous, fleet, journal, lookup, node_setup, rules, schema
from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.states import Cluster, ClusterStatus, Group, Node
from unbroken.rehearsal.hyperpod.world import World

_WHOLE = ("NodeRecovery", "NodeProvisioningMode", "Orchestrator", "ClusterRole")


@dataclass(frozen=True)
class _Change:
    """What an update is about to do, and what was before."""

    before: dict[str, Mapping[str, Any]]
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
    rules.check_groups(specs)
    rules.check_roles(world.aws, specs)
    with world.changed:
        cluster = lookup.settled_cluster(world, request["ClusterName"])
        _check(cluster, specs, request.get("InstanceGroupsToDelete", []))
        change = _apply(world, cluster, specs, request)
        cluster.status = ClusterStatus.UPDATING
    journal.set_cluster(world, cluster, ClusterStatus.UPDATING)
    world.spawn("update", lambda: _work(world, cluster, change))
    return {"ClusterArn": cluster.arn}


def _check(cluster: Cluster, specs: list[Mapping[str, Any]], to_delete: list[str]) -> None:
    if cluster.status is ClusterStatus.FAILED:
        raise validation(f"Cluster {cluster.name} is in Failed state and cannot be updated.")
    for spec in specs:
        known = cluster.groups.get(spec["InstanceGroupName"])
        if known is not None and known.spec["InstanceType"] != spec["InstanceType"]:
            raise validation(
                f"Instance type of existing instance group {known.name} cannot be changed from "
                f"{known.spec['InstanceType']} to {spec['InstanceType']}."
            )
        if spec["InstanceGroupName"] == cluster.controller_group:
            rules.check_controller_count(spec)
    _check_deleted(cluster, to_delete)


def _check_deleted(cluster: Cluster, names: list[str]) -> None:
    unknown = sorted(set(names) - set(cluster.groups))
    if unknown:
        raise validation(f"Instance groups {', '.join(unknown)} do not exist in cluster {cluster.name}.")
    if cluster.controller_group in names:
        raise validation(f"The controller group {cluster.controller_group} cannot be deleted.")


def _apply(
    world: World, cluster: Cluster, specs: list[Mapping[str, Any]], request: Mapping[str, Any]
) -> _Change:
    """Fold the request into the cluster's record and plan the nodes; call it with the lock held."""
    before = {name: group.spec for name, group in cluster.groups.items()}
    deleted = list(request.get("InstanceGroupsToDelete", []))
    leaving = [node for name in deleted for node in cluster.members(name)]
    missing: dict[str, int] = {}
    for spec in specs:
        name, have = spec["InstanceGroupName"], cluster.members(spec["InstanceGroupName"])
        missing[name] = max(0, spec["InstanceCount"] - len(have))
        leaving += have[spec["InstanceCount"] :]
    added = _planned(world, cluster, specs, missing)
    cluster.request |= {key: request[key] for key in _WHOLE if key in request}
    return _Change(before, added, leaving, deleted)


def _planned(
    world: World, cluster: Cluster, specs: list[Mapping[str, Any]], missing: dict[str, int]
) -> list[Node]:
    added = fleet.plan(world, cluster, missing)  # refuses before anything is changed
    for spec in specs:
        group = cluster.groups.setdefault(spec["InstanceGroupName"], Group(spec))
        group.spec, group.status = spec, "Updating"
    return added


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
        for name, spec in change.before.items():
            cluster.groups[name].spec = spec
        _settle(cluster, set())
    node_setup.push_resource_config(world, cluster)
    journal.set_cluster(world, cluster, ClusterStatus.IN_SERVICE, message)


def _settle(cluster: Cluster, unfinished: set[str]) -> None:
    for group in cluster.groups.values():
        group.status = "Updating" if group.name in unfinished else "InService"
