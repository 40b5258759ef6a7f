"""The API on the wire: shapes of answers, error codes, pages, and views that lag behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rehearsal.hyperpod.fakes import WORKER_1, Bench, request, resize
from unbroken.rehearsal.hyperpod import api, schema


def call(bench: Bench, operation: str, **body: Any) -> dict[str, Any]:
    """An answer, checked against the operation's output shape and as JSON."""
    status, answer = api.handle(bench.service, operation, json.dumps(body).encode())
    assert status == 200, answer
    assert schema.check_answer(operation, answer) == []
    bench.settle()
    return json.loads(json.dumps(answer))  # type: ignore[no-any-return]  # JSON


def error(bench: Bench, operation: str, body: bytes) -> str:
    status, answer = api.handle(bench.service, operation, body)
    assert status == 400 and answer["message"]
    return str(answer["__type"])


@pytest.mark.behaviour("HP046")
def test_answers_and_errors() -> None:
    bench = Bench()
    call(bench, "CreateCluster", **request(1))
    [node_id] = bench.ids()
    for operation, body in (
        ("DescribeCluster", {}),
        ("ListClusterNodes", {"IncludeNodeLogicalIds": True}),
        ("DescribeClusterNode", {"NodeId": node_id}),
        ("DescribeClusterNode", {"NodeLogicalId": "workers-1"}),
        ("UpdateCluster", {k: v for k, v in resize(2).items() if k != "ClusterName"}),
        ("UpdateClusterSoftware", {}),
        ("DescribeCluster", {}),
        ("BatchRebootClusterNodes", {"NodeIds": [node_id, "i-0123456789abcdef0"]}),
        ("BatchReplaceClusterNodes", {"NodeLogicalIds": ["workers-1", "workers-7"]}),
        ("DeleteCluster", {}),
    ):
        call(bench, operation, ClusterName="ml", **body)
    assert call(bench, "ListClusters") == {"ClusterSummaries": []}
    assert error(bench, "DescribeCluster", b'{"ClusterName": "ml"}') == "ResourceNotFound"
    assert error(bench, "DescribeCluster", b"{}") == "ValidationException"
    assert error(bench, "DescribeCluster", b"{") == "SerializationException"
    assert error(bench, "DescribeCluster", b"[]") == "SerializationException"
    assert error(bench, "DescribeTrainingJob", b"{}") == "UnknownOperationException"


def test_the_shape_check_finds_what_is_wrong() -> None:
    assert schema.check_answer("DescribeCluster", {"ClusterName": "ml"})
    bad = {"ClusterArn": "x", "ClusterStatus": "Fine", "InstanceGroups": []}
    assert len(schema.check_answer("DescribeCluster", bad)) == 2


def test_a_node_is_described() -> None:
    bench = Bench()
    bench.up(1)
    [node_id] = bench.ids()
    details = call(bench, "DescribeClusterNode", ClusterName="ml", NodeId=node_id)["NodeDetails"]
    assert details["PrivatePrimaryIp"] == "10.0.128.11" and details["NodeLogicalId"] == "workers-1"
    assert details["PrivateDnsHostname"] == f"{WORKER_1}.us-west-2.compute.internal"
    assert details["Placement"] == {"AvailabilityZoneId": "usw2-az4"}
    missing = b'{"ClusterName": "ml", "NodeId": "i-0123456789abcdef0"}'
    assert error(bench, "DescribeClusterNode", missing) == "ResourceNotFound"
    assert error(bench, "DescribeClusterNode", b'{"ClusterName": "ml"}') == "ValidationException"


def test_lists_come_in_pages_filtered_and_sorted() -> None:
    bench = Bench()
    bench.up(3)
    seen: list[str] = []
    token: dict[str, str] = {}
    while True:
        page = call(bench, "ListClusterNodes", ClusterName="ml", MaxResults=3, **token)
        seen += [row["InstanceId"] for row in page["ClusterNodeSummaries"]]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert sorted(seen) == sorted(bench.ids(""))
    workers = call(bench, "ListClusterNodes", ClusterName="ml", InstanceGroupNameContains="work")
    assert len(workers["ClusterNodeSummaries"]) == 3
    bench.clock.sleep(10)
    call(bench, "CreateCluster", **request(0, ClusterName="another"))
    by_name = call(bench, "ListClusters", SortBy="NAME", SortOrder="Descending")["ClusterSummaries"]
    assert [row["ClusterName"] for row in by_name] == ["ml", "another"]
    late = call(bench, "ListClusters", CreationTimeAfter=bench.clock.t - 5)["ClusterSummaries"]
    assert [row["ClusterName"] for row in late] == ["another"]
    assert call(bench, "ListClusters", NameContains="x")["ClusterSummaries"] == []
    assert error(bench, "ListClusters", b'{"NextToken": "what"}') == "ValidationException"


@pytest.mark.behaviour("HP045")
def test_the_api_shows_what_was_true_a_while_ago() -> None:
    bench = Bench(view_lag_seconds=60.0)
    bench.service.create_cluster(request(1))
    bench.settle()
    assert bench.status() == "InService"
    assert {row["InstanceStatus"]["Status"] for row in bench.nodes()} == {"Pending"}
    bench.clock.sleep(60)
    assert {row["InstanceStatus"]["Status"] for row in bench.nodes()} == {"Running"}
    bench.machine(WORKER_1).up = False
    bench.service.poll_health()
    bench.clock.sleep(59)
    assert {row["InstanceStatus"]["Status"] for row in bench.nodes()} == {"Running"}
    bench.clock.sleep(1)
    assert [row["InstanceStatus"]["Status"] for row in bench.nodes()] == ["Running", "Failure"]


@pytest.mark.behaviour("HP047")
def test_events_are_for_continuous_clusters() -> None:
    bench = Bench()
    bench.up(1)
    assert error(bench, "ListClusterEvents", b'{"ClusterName": "ml"}') == "ValidationException"
    other = Bench()
    other.up(1, NodeProvisioningMode="Continuous")
    rows = call(other, "ListClusterEvents", ClusterName="ml")["Events"]
    assert rows[0]["EventTime"] >= rows[-1]["EventTime"]
    [node_id] = other.ids()
    about = call(other, "ListClusterEvents", ClusterName="ml", NodeId=node_id, SortOrder="Ascending")[
        "Events"
    ]
    assert [row["EventLevel"] for row in about] == ["Info"] and about[0]["ResourceType"] == "Instance"
    assert {row["ResourceType"] for row in rows} == {"Cluster", "Instance"}


def test_every_answered_operation_exists() -> None:
    names = schema.model().operation_names
    assert set(api.operations()) <= set(names)
