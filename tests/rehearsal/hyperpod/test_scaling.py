"""Single nodes more or less, and one event looked at."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rehearsal.hyperpod.fakes import CONTROLLER, WORKER_3, Bench
from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.schema import check_answer

CONTINUOUS: dict[str, Any] = {"NodeProvisioningMode": "Continuous"}


def add(count: int, group: str = "workers") -> dict[str, Any]:
    wanted = [{"InstanceGroupName": group, "IncrementTargetCountBy": count}]
    return {"ClusterName": "ml", "NodesToAdd": wanted}


@pytest.mark.behaviour("HP069")
def test_nodes_are_added_one_by_one_with_continuous_only() -> None:
    plain = Bench()
    plain.up()
    with pytest.raises(ServiceError, match="only with NodeProvisioningMode Continuous"):
        plain.service.batch_add_cluster_nodes(add(1))
    bench = Bench()
    bench.up(**CONTINUOUS)
    with pytest.raises(ServiceError, match="At most 50 nodes"):
        bench.service.batch_add_cluster_nodes(
            {"ClusterName": "ml", "NodesToAdd": [*add(30)["NodesToAdd"], *add(21)["NodesToAdd"]]}
        )
    wanted = {"ClusterName": "ml", "NodesToAdd": [*add(1)["NodesToAdd"], *add(2, "none")["NodesToAdd"]]}
    answer = bench.service.batch_add_cluster_nodes(wanted)
    assert check_answer("BatchAddClusterNodes", answer) == []
    assert [node["NodeLogicalId"] for node in answer["Successful"]] == ["workers-3"]
    assert [(f["ErrorCode"], f["FailedCount"]) for f in answer["Failed"]] == [("InstanceGroupNotFound", 2)]
    assert bench.describe()["ClusterStatus"] == "InService"
    bench.settle()
    group = bench.describe()["InstanceGroups"][1]
    assert (group["CurrentCount"], group["TargetCount"], group["Status"]) == (3, 3, "InService")
    assert bench.machines.order("script")[-1] == WORKER_3


@pytest.mark.behaviour("HP070")
def test_nodes_are_deleted_by_id_and_their_groups_shrink() -> None:
    bench = Bench()
    bench.up(3)
    first, _, third = bench.ids()
    [controller] = bench.ids("controller-machine")
    names = {
        "NodeIds": [first, controller, "i-00000000000000000"],
        "NodeLogicalIds": ["workers-3", "workers-9"],
    }
    answer = bench.service.batch_delete_cluster_nodes({"ClusterName": "ml", **names})
    assert check_answer("BatchDeleteClusterNodes", answer) == []
    assert answer["Successful"] == [first] and answer["SuccessfulNodeLogicalIds"] == ["workers-3"]
    assert [(f["NodeId"], f["Code"]) for f in answer["Failed"]] == [
        (controller, "InvalidNodeStatus"),
        ("i-00000000000000000", "NodeIdNotFound"),
    ]
    assert answer["Failed"][0]["Message"] == messages.CONTROLLER_NODE_STAYS.format(node=controller)
    assert [f["Code"] for f in answer["FailedNodeLogicalIds"]] == ["NodeIdNotFound"]
    busy = bench.service.batch_delete_cluster_nodes({"ClusterName": "ml", "NodeIds": [third]})
    assert busy["Failed"][0]["Code"] == "NodeIdInUse"
    bench.settle()
    assert [row["NodeLogicalId"] for row in bench.nodes("workers")] == ["workers-2"]
    assert bench.describe()["InstanceGroups"][1]["TargetCount"] == 1
    assert not bench.machines.of("ip-10-0-128-11")[0].up and bench.machine(CONTROLLER).up
    assert b"ip-10-0-128-11" not in bench.machine(CONTROLLER).files["/opt/ml/config/resource_config.json"]


@pytest.mark.behaviour("HP071")
@pytest.mark.parametrize(("ids", "logical", "most"), [(100, 0, 99), (30, 21, 50), (0, 51, 50), (0, 0, 99)])
def test_how_many_nodes_one_call_deletes(ids: int, logical: int, most: int) -> None:
    bench = Bench()
    bench.up()
    named = {
        "NodeIds": [f"i-{n:017x}" for n in range(ids)],
        "NodeLogicalIds": [f"workers-{n}" for n in range(logical)],
    }
    given = {key: value for key, value in named.items() if value}
    with pytest.raises(
        ServiceError, match=f"Between 1 and {most} nodes must be given, found {ids + logical}"
    ):
        bench.service.batch_delete_cluster_nodes({"ClusterName": "ml", **given})


@pytest.mark.behaviour("HP072")
def test_one_event_tells_of_its_node() -> None:
    bench = Bench()
    bench.up(**CONTINUOUS)
    events = bench.service.list_cluster_events({"ClusterName": "ml", "ResourceType": "Instance"})["Events"]
    asked = {"ClusterName": "ml", "EventId": events[0]["EventId"]}
    answer = bench.service.describe_cluster_event(asked)
    assert check_answer("DescribeClusterEvent", answer) == []
    details = answer["EventDetails"]
    assert details["EventId"] == events[0]["EventId"] and details["Description"] == events[0]["Description"]
    known = details["EventDetails"]["EventMetadata"]["Instance"]
    assert known["NodeLogicalId"] == "controller-machine-1" and known["CustomerEni"].startswith("eni-")
    with pytest.raises(ServiceError, match="does not exist for cluster ml"):
        bench.service.describe_cluster_event(asked | {"EventId": "00000000-0000-0000-0000-000000000000"})
    plain = Bench()
    plain.up()
    with pytest.raises(ServiceError, match="only with NodeProvisioningMode Continuous"):
        plain.service.describe_cluster_event(asked)
