"""Which changes of a cluster that exists the service refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.hyperpod import slurm_rules
from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.states import Cluster, ClusterStatus, Group

Spec = Mapping[str, Any]
FIXED = ("InstanceType", "ExecutionRole", "ThreadsPerCore", "OverrideVpcConfig")
"""What stays as a group was made with: createOnly in the resource schema of cfn-lint 1.51."""


def check(cluster: Cluster, specs: list[Spec], request: Mapping[str, Any]) -> None:
    """Raise ValidationException for a change that is refused."""
    if cluster.status is ClusterStatus.FAILED:
        raise validation(f"Cluster {cluster.name} is in Failed state and cannot be updated.")
    for spec in specs:
        known = cluster.groups.get(spec["InstanceGroupName"])
        if known is not None:
            _check_fixed(known, spec)
            _check_part(cluster, known, spec)
        if spec["InstanceGroupName"] == cluster.slurm.controller_group:
            slurm_rules.check_controller_count(spec)
    _check_deleted(cluster, request.get("InstanceGroupsToDelete", []))
    _check_mode(cluster, request)
    _check_database(cluster, request)


def _check_fixed(group: Group, spec: Spec) -> None:
    for name in FIXED:
        before, after = group.spec.get(name), spec.get(name)
        if name == "ThreadsPerCore" and after is None:
            continue
        if before != after:
            raise validation(
                f"{name} of existing instance group {group.name} cannot be changed from {before} to {after}."
            )


def _check_part(cluster: Cluster, group: Group, spec: Spec) -> None:
    if not cluster.slurm.by_api:
        return
    before, after = (one.get("SlurmConfig", {}).get("NodeType") for one in (group.spec, spec))
    if before != after:
        raise validation(
            f"SlurmConfig.NodeType of existing instance group {group.name} cannot be changed from {before} "
            f"to {after}."
        )


def _check_deleted(cluster: Cluster, names: list[str]) -> None:
    unknown = sorted(set(names) - set(cluster.groups))
    if unknown:
        raise validation(f"Instance groups {', '.join(unknown)} do not exist in cluster {cluster.name}.")
    if cluster.slurm.controller_group in names:
        raise validation(f"The controller group {cluster.slurm.controller_group} cannot be deleted.")


def _check_mode(cluster: Cluster, request: Mapping[str, Any]) -> None:
    if "NodeProvisioningMode" in request and not cluster.continuous:
        raise validation(f"NodeProvisioningMode of cluster {cluster.name} is given when it is created.")


def _check_database(cluster: Cluster, request: Mapping[str, Any]) -> None:
    """Back to the controller's own database: never."""
    if "Orchestrator" not in request:
        return
    before, after = (
        one.get("Orchestrator", {}).get("Slurm", {}).get("AccountingDatabase")
        for one in (cluster.request, request)
    )
    if before is not None and after is None:
        raise validation(f"The external accounting database of cluster {cluster.name} cannot be taken back.")
    if before != after:
        raise validation("The rehearsal does not emulate a change of the accounting database.")
