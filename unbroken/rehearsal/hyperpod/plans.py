"""Training plans: capacity reserved in advance, which a group must fit in type, zone and number.

The plans of the account are put there by the rehearsal; buying one is not emulated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unbroken.rehearsal.hyperpod import schema
from unbroken.rehearsal.hyperpod.errors import ServiceError, validation
from unbroken.rehearsal.hyperpod.states import Cluster, Group, TrainingPlan
from unbroken.rehearsal.hyperpod.world import World

READY = ("Active", "Scheduled")
# A plan has times and a price too; nothing here depends on them.
_DURATION_HOURS = 24


def check(world: World, cluster: Cluster, groups: Iterable[Group]) -> None:
    """Every group with a TrainingPlanArn fits its plan; raises ValidationException."""
    for group in groups:
        arn = group.spec.get("TrainingPlanArn")
        if arn is not None:
            _check(world, cluster, group, arn)


def _check(world: World, cluster: Cluster, group: Group, arn: str) -> None:
    plan = world.plans.get(arn)
    if plan is None:
        raise validation(f"Training plan {arn} of {group.name} does not exist.")
    if plan.status not in READY:
        raise validation(f"Training plan {arn} of {group.name} is {plan.status}.")
    kind, zone = group.spec["InstanceType"], group.network.subnet.availability_zone_id
    if plan.instance_type != kind:
        raise validation(f"Training plan {arn} is for {plan.instance_type}, and {group.name} is of {kind}.")
    if plan.availability_zone_id != zone:
        theirs = plan.availability_zone_id
        raise validation(f"Training plan {arn} is in {theirs}, and the subnet of {group.name} in {zone}.")
    missing = group.target - len(cluster.members(group.name))
    left = plan.total - in_use(world, arn)
    if missing > left:
        raise validation(f"Training plan {arn} has {left} instances left, and {group.name} needs {missing}.")


def in_use(world: World, arn: str) -> int:
    """How many of a plan's instances are nodes now."""
    return sum(
        cluster.groups[node.group].spec.get("TrainingPlanArn") == arn
        for cluster in world.clusters.values()
        for node in cluster.nodes
    )


def describe(world: World, request: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeTrainingPlan."""
    schema.check_request("DescribeTrainingPlan", request)
    with world.changed:
        for plan in world.plans.values():
            if plan.arn.rsplit("/", 1)[1] == request["TrainingPlanName"]:
                return _shown(world, plan)
    raise ServiceError("ResourceNotFound", f"Training plan {request['TrainingPlanName']} does not exist.")


def listed(world: World, request: Mapping[str, Any]) -> dict[str, Any]:
    """ListTrainingPlans, all on one page."""
    schema.check_request("ListTrainingPlans", request)
    with world.changed:
        return {"TrainingPlanSummaries": [_shown(world, plan) for plan in world.plans.values()]}


def _shown(world: World, plan: TrainingPlan) -> dict[str, Any]:
    used = in_use(world, plan.arn)
    reserved = {
        "ReservedCapacityArn": plan.arn.replace(":training-plan/", ":reserved-capacity/"),
        "InstanceType": plan.instance_type,
        "TotalInstanceCount": plan.total,
        "Status": plan.status,
        "AvailabilityZoneId": plan.availability_zone_id,
        "DurationHours": _DURATION_HOURS,
    }
    return {
        "TrainingPlanArn": plan.arn,
        "TrainingPlanName": plan.arn.rsplit("/", 1)[1],
        "Status": plan.status,
        "DurationHours": _DURATION_HOURS,
        "TotalInstanceCount": plan.total,
        "AvailableInstanceCount": plan.total - used,
        "InUseInstanceCount": used,
        "TargetResources": ["hyperpod-cluster"],
        "ReservedCapacitySummaries": [reserved],
    }
