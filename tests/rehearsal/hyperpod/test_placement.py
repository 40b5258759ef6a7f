"""Where nodes go: networks of their own, training plans, ways to S3 and to the logs, deep checks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rehearsal.hyperpod.fakes import CONTROLLER, WORKER_1, Bench, request
from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.machines import Reach, SecurityGroup, Subnet
from unbroken.rehearsal.hyperpod.states import TrainingPlan

PLAN = TrainingPlan(
    "arn:aws:sagemaker:us-west-2:000000000000:training-plan/mine", "ml.p5.48xlarge", "usw2-az4", 2
)
PLANNED = {"InstanceType": "ml.p5.48xlarge", "TrainingPlanArn": PLAN.arn}


def elsewhere(bench: Bench, vpc: str = "vpc-1", *, self_rules: bool = True) -> dict[str, Any]:
    """A subnet and a security group of a group's own."""
    bench.store.subnets["subnet-2"] = Subnet("subnet-2", vpc, "10.0.64.0/24", "usw2-az2")
    bench.store.groups["sg-2"] = SecurityGroup("sg-2", vpc, self_rules, self_rules)
    return {"OverrideVpcConfig": {"Subnets": ["subnet-2"], "SecurityGroupIds": ["sg-2"]}}


def refused(bench: Bench, body: dict[str, Any]) -> str:
    with pytest.raises(ServiceError) as caught:
        bench.service.create_cluster(body)
    return caught.value.message


@pytest.mark.behaviour("HP062")
def test_a_groups_own_subnet_and_security_groups_hold_its_interfaces() -> None:
    bench = Bench()
    bench.up(2, worker=elsewhere(bench))
    assert bench.machines.order("boot") == [CONTROLLER, "ip-10-0-64-10", "ip-10-0-64-11"]
    spec = bench.machine("ip-10-0-64-10").spec
    assert (spec.gateway, spec.prefix_len) == ("10.0.64.1", 24)
    assert sorted(bench.store.interfaces.values()) == ["10.0.128.10", "10.0.64.10", "10.0.64.11"]
    details = bench.service.describe_cluster_node({"ClusterName": "ml", "NodeId": bench.ids()[0]})[
        "NodeDetails"
    ]
    assert details["Placement"] == {"AvailabilityZoneId": "usw2-az2"}


@pytest.mark.behaviour("HP063")
def test_a_groups_own_subnet_is_in_the_clusters_vpc() -> None:
    bench = Bench()
    assert "subnet-2 is in vpc-2, and the cluster is in vpc-1" in refused(
        bench, request(worker=elsewhere(bench, "vpc-2"))
    )


@pytest.mark.behaviour("HP064")
def test_efa_is_checked_on_the_groups_own_security_groups() -> None:
    bench = Bench()
    own = elsewhere(bench, self_rules=False)
    bench.service.create_cluster(request(1, worker={"InstanceType": "ml.p5.48xlarge", **own}))
    bench.settle()
    assert bench.service.wait("ml", 1.0).message == messages.EFA_FAILED
    bench.service.delete_cluster({"ClusterName": "ml"})
    bench.settle()
    bench.up(1, worker={"InstanceType": "ml.m5.large", **own})


@pytest.mark.behaviour("HP065")
def test_without_a_way_to_s3_the_bundle_does_not_come() -> None:
    bench = Bench()
    bench.store.ways["subnet-1"] = Reach(internet=False, services=frozenset({"logs"}))
    bench.service.create_cluster(request())
    bench.settle()
    assert bench.service.wait("ml", 1.0).message == messages.LIFECYCLE_FAILED
    [lines] = bench.store.streams.values()
    assert lines[-1].startswith("[SageMaker] Connect timeout on endpoint URL: s3://")


@pytest.mark.behaviour("HP066")
def test_without_a_way_to_the_logs_nothing_is_shipped_and_the_node_comes_up() -> None:
    bench = Bench()
    bench.store.ways["subnet-1"] = Reach(internet=False, services=frozenset({"s3"}))
    bench.up()
    assert not bench.store.streams
    assert any(kind == "lifecycle_line" for _, kind, _, _ in bench.events.all)


@pytest.mark.behaviour("HP073")
def test_interfaces_and_volume_keys_are_the_execution_roles_to_make_and_use() -> None:
    volume = {"EbsVolumeConfig": {"VolumeSizeInGB": 100, "VolumeKmsKeyId": "mine"}}
    for denied, action in (("ec2", "ec2:CreateNetworkInterface"), ("key", "kms:CreateGrant on mine")):
        bench = Bench()
        bench.store.refused, bench.store.useless_keys = {denied}, {"mine"} if denied == "key" else set()
        bench.service.create_cluster(request(1, worker={"InstanceStorageConfigs": [volume]}))
        bench.settle()
        outcome = bench.service.wait("ml", 1.0)
        assert not outcome.ok and f"execution is not authorized to perform: {action}" in outcome.message


@pytest.mark.behaviour("HP074")
def test_a_role_that_may_not_write_logs_loses_them_and_the_node_comes_up() -> None:
    bench = Bench()
    bench.store.refused = {"logs"}
    bench.up(1)
    assert not bench.store.streams
    [first, *_] = [data for _, kind, _, data in bench.events.all if kind == "log_denied"]
    assert "logs:PutLogEvents" in str(first["message"])


@pytest.mark.behaviour("HP067")
@pytest.mark.parametrize(
    ("plan", "worker", "reason"),
    [
        (None, {}, "does not exist"),
        (
            {"instance_type": "ml.p4d.24xlarge"},
            {},
            "is for ml.p4d.24xlarge, and workers is of ml.p5.48xlarge",
        ),
        ({"availability_zone_id": "usw2-az1"}, {}, "is in usw2-az1, and the subnet of workers in usw2-az4"),
        ({}, {"InstanceCount": 3}, "has 2 instances left, and workers needs 3"),
        ({"status": "Expired"}, {}, "is Expired"),
    ],
)
def test_a_training_plan_must_fit(plan: dict[str, Any] | None, worker: dict[str, Any], reason: str) -> None:
    bench = Bench()
    if plan is not None:
        bench.service.add_training_plan(TrainingPlan(**{**vars(PLAN), **plan}))
    assert reason in refused(bench, request(2, worker=PLANNED | worker))


def test_a_training_plan_is_used_up_by_nodes() -> None:
    bench = Bench()
    bench.service.add_training_plan(PLAN)
    bench.up(1, worker=PLANNED)
    assert bench.service.describe_training_plan({"TrainingPlanName": "mine"})["AvailableInstanceCount"] == 1
    [listed] = bench.service.list_training_plans({})["TrainingPlanSummaries"]
    assert (listed["TrainingPlanArn"], listed["InUseInstanceCount"]) == (PLAN.arn, 1)
    grown = {"ClusterName": "ml", "InstanceGroups": [request(3, worker=PLANNED)["InstanceGroups"][1]]}
    with pytest.raises(ServiceError, match="has 1 instances left, and workers needs 2"):
        bench.service.update_cluster(grown)
    assert bench.describe()["InstanceGroups"][1]["TargetCount"] == 1
    with pytest.raises(ServiceError, match="Training plan other does not exist"):
        bench.service.describe_training_plan({"TrainingPlanName": "other"})


@pytest.mark.behaviour("HP068")
def test_deep_health_checks_hold_a_node_in_a_reservation() -> None:
    bench = Bench(deep_health_check_seconds=60.0)
    bench.up(1, worker={"InstanceType": "ml.g5.xlarge", "OnStartDeepHealthChecks": ["InstanceStress"]})
    assert bench.events.statuses(WORKER_1) == ["DeepHealthCheckInProgress", "Running"]
    name = f"ReservationName=deep-health-check-{WORKER_1}"
    made, ended = f"create reservation {name}", f"delete {name}"
    assert [what for what, where in bench.machines.log if where == CONTROLLER][-2:] == [made, ended]
    results = {
        stream: lines for (_, stream), lines in bench.store.streams.items() if stream.startswith("Deep")
    }
    assert list(results) == [f"DeepHealthCheckResults/{bench.ids()[0]}"]
    assert results.popitem()[1][0].startswith("InstanceStress: passed (rehearsed")


def test_deep_health_checks_need_an_accelerator() -> None:
    bench = Bench()
    bench.up(1, worker={"OnStartDeepHealthChecks": ["InstanceStress"]})
    assert bench.events.statuses(WORKER_1) == ["Running"]
