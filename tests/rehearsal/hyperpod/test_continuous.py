"""NodeProvisioningMode Continuous."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rehearsal.hyperpod.fakes import (
    BUNDLE,
    PARAMETERS,
    WORKER_1,
    WORKER_2,
    Bench,
    FakeMachine,
    group,
    request,
)

CONTINUOUS: dict[str, Any] = {"NodeProvisioningMode": "Continuous"}


@pytest.mark.behaviour("HP048")
def test_in_service_with_the_controller_and_workers_are_tried_again() -> None:
    bench = Bench()
    failures = [2]

    def script(machine: FakeMachine) -> tuple[int, str]:
        if machine.spec.name == WORKER_1 and failures[0]:
            failures[0] -= 1
            return 1, ""
        return 0, ""

    bench.machines.script = script
    bench.service.create_cluster(request(2, **CONTINUOUS))
    bench.settle(but="continuous")
    assert bench.status() == "InService"
    assert [row["InstanceStatus"]["Status"] for row in bench.nodes()] == ["Running", "Pending", "Pending"]
    bench.settle()
    assert {row["InstanceStatus"]["Status"] for row in bench.nodes()} == {"Running"}
    assert bench.machines.order("script").count(WORKER_1) == 3
    assert bench.machines.order("script").count(WORKER_2) == 1


def test_without_continuous_nothing_is_tried_again() -> None:
    bench = Bench()
    bench.machines.script = lambda machine: (1 if machine.spec.name == WORKER_1 else 0, "")
    bench.service.create_cluster(request(2))
    bench.settle()
    assert bench.status() == "Failed" and bench.machines.order("script").count(WORKER_1) == 1


def test_a_failing_controller_fails_a_continuous_cluster() -> None:
    bench = Bench()
    bench.machines.script = lambda machine: (1, "")
    bench.service.create_cluster(request(2, **CONTINUOUS))
    bench.settle()
    assert bench.status() == "Failed"


def test_retries_end_with_the_cluster() -> None:
    bench = Bench()
    bench.machines.script = lambda machine: (1 if machine.spec.name == WORKER_1 else 0, "")
    bench.service.create_cluster(request(1, **CONTINUOUS))
    bench.settle(but="continuous")
    bench.service.delete_cluster({"ClusterName": "ml"})
    bench.settle()
    assert all(machine.discarded for machine in bench.machines.made)


@pytest.mark.behaviour("HP049")
def test_a_group_below_its_minimum_goes_back() -> None:
    bench = Bench(min_count_timeout_seconds=3 * 3600.0, continuous_retry_seconds=600.0)
    bench.up(1, **CONTINUOUS)
    began = bench.clock.t
    bench.machines.script = lambda machine: (1 if machine.spec.name != WORKER_2 else 0, "")
    grown = group("workers", 4, MinInstanceCount=3)
    bench.service.update_cluster({"ClusterName": "ml", "InstanceGroups": [grown]})
    bench.settle(but="continuous")
    assert bench.describe()["InstanceGroups"][1]["Status"] == "Updating"
    bench.settle()
    assert bench.clock.t - began == 3 * 3600.0
    view = bench.describe()["InstanceGroups"][1]
    assert (view["CurrentCount"], view["TargetCount"], view["Status"]) == (1, 1, "InService")
    assert "MinInstanceCount of 3" in bench.describe()["FailureMessage"]
    assert not bench.machine(WORKER_2).up and bench.machine(WORKER_1).up


def test_a_group_that_reaches_its_minimum_stays() -> None:
    bench = Bench()
    tries = [0]

    def script(machine: FakeMachine) -> tuple[int, str]:
        if machine.spec.name != WORKER_2:
            return 0, ""
        tries[0] += 1
        return (1 if tries[0] < 4 else 0), ""

    bench.machines.script = script
    bench.up(2, worker={"MinInstanceCount": 1}, **CONTINUOUS)
    view = bench.describe()["InstanceGroups"][1]
    assert (view["CurrentCount"], view["MinCount"], view["Status"]) == (2, 1, "InService")


def test_a_node_being_tried_is_busy_and_one_sent_away_is_tried_no_more() -> None:
    bench = Bench()
    bench.machines.script = lambda machine: (1 if machine.spec.name == WORKER_2 else 0, "")
    bench.service.create_cluster(request(2, **CONTINUOUS))
    answers: list[Any] = []

    def meanwhile(seconds: float) -> None:
        if len(answers) == 0:
            answers.append(bench.service.replace_requested("ml", WORKER_2, "Action:Replace"))
            bench.service.update_cluster({"ClusterName": "ml", "InstanceGroups": [group("workers", 1)]})
            name, work = bench.queue.pop()
            assert name == "update"
            work()

    bench.clock.on_sleep = lambda seconds: meanwhile(seconds) if seconds else None
    bench.settle()
    assert "in progress" in answers[0]["message"]
    assert [row["NodeLogicalId"] for row in bench.nodes("workers")] == ["workers-1"]
    assert bench.service.batch_reboot_cluster_nodes({"ClusterName": "ml", "NodeIds": bench.ids()})[
        "Successful"
    ]


def test_login_nodes_are_waited_for() -> None:
    bench = Bench()
    bench.store.bundles[BUNDLE]["provisioning_parameters.json"] = json.dumps(
        PARAMETERS | {"login_group": "login"}
    ).encode()
    body = request(1, **CONTINUOUS)
    body["InstanceGroups"].append(group("login", 1))
    bench.service.create_cluster(body)
    bench.settle(but="continuous")
    shown = {row["InstanceGroupName"]: row["InstanceStatus"]["Status"] for row in bench.nodes()}
    assert shown == {"controller-machine": "Running", "login": "Running", "workers": "Pending"}
