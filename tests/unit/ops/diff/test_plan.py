"""Nodes in HyperPod's terms, and what `up` refuses."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from unbroken.aws.sagemaker import Node
from unbroken.ops.diff import words
from unbroken.ops.diff.changes import Change
from unbroken.ops.diff.groups import GroupChange, changes
from unbroken.ops.diff.plan import Plan, Refusal


def cluster(**counts: int) -> dict[str, Any]:
    groups = [
        {"InstanceGroupName": name, "InstanceType": "ml.p4de.24xlarge", "InstanceCount": count}
        for name, count in counts.items()
    ]
    return {"Properties": {"InstanceGroups": groups}}


def nodes(**counts: int) -> tuple[Node, ...]:
    launched = datetime(2026, 1, 1, tzinfo=timezone.utc)
    return tuple(
        Node(group, f"i-{group}{number}", "ml.p4de.24xlarge", "Running", "", launched)
        for group, count in counts.items()
        for number in range(count)
    )


def plan(
    old: dict[str, Any],
    new: dict[str, Any],
    *,
    there: tuple[Node, ...] = (),
    resources: tuple[Change, ...] = (),
    targets: dict[str, int] | None = None,
    fresh: bool = False,
) -> Plan:
    groups = tuple(changes(old, new, targets or {}, fresh))
    return Plan((), (), resources, groups, there, bundle_changes=False)


def effects(found: Plan) -> dict[str, tuple[int, int, int]]:
    return {group.name: (group.kept, group.added, group.removed) for group in found.groups}


def test_counts_become_nodes_kept_added_and_removed() -> None:
    found = plan(cluster(a=4, b=2, gone=3), cluster(a=6, b=1, new=5))
    assert effects(found) == {"a": (4, 2, 0), "b": (1, 0, 1), "new": (0, 5, 0), "gone": (0, 0, 3)}


def test_the_count_the_service_aims_at_goes_before_the_deployed_template() -> None:
    """After a node was deleted by its id, lowering the file's count removes no other."""
    assert effects(plan(cluster(a=4), cluster(a=3), targets={"a": 3})) == {"a": (3, 0, 0)}


def test_a_replaced_cluster_keeps_no_node() -> None:
    assert effects(plan(cluster(a=4), cluster(a=4, b=1), fresh=True)) == {"a": (0, 4, 4), "b": (0, 1, 0)}


def test_fewer_nodes_are_refused_until_each_is_named() -> None:
    found = plan(cluster(a=4), cluster(a=2), there=nodes(a=4))
    assert [refusal.what for refusal in found.refusals()] == ["group a would go from 4 to 2 nodes"]
    assert "i-a0, i-a1, i-a2, i-a3" in found.refusals()[0].way_out
    assert len(found.refusals(removed=["i-a0"])) == 1
    assert found.refusals(removed=["i-a0", "i-a3"]) == []
    assert len(found.refusals(removed=["i-a0", "i-a1", "i-a3"])) == 1
    assert len(found.refusals(allow_replace=True)) == 1


def test_a_group_that_goes_as_a_whole_needs_no_names() -> None:
    assert plan(cluster(a=4, b=1), cluster(a=4), there=nodes(a=4, b=1)).refusals() == []


@pytest.mark.parametrize("identity", ["i-unknown", "i-b0"])
def test_a_named_node_must_be_one_that_goes(identity: str) -> None:
    found = plan(cluster(a=2, b=1), cluster(a=1, b=1), there=nodes(a=2, b=1))
    refusals = found.refusals(removed=["i-a0", identity])
    assert [refusal.what for refusal in refusals] == [f"--remove {identity}"]


def test_another_type_for_a_group_with_nodes_is_refused_even_when_replacement_is_allowed() -> None:
    new = cluster(a=4)
    new["Properties"]["InstanceGroups"][0]["InstanceType"] = "ml.p5.48xlarge"
    found = plan(cluster(a=4), new)
    [refusal] = found.refusals(allow_replace=True)
    assert refusal.what == "InstanceType of group a would change"
    assert plan(cluster(a=4), new, fresh=True).refusals() == []


def test_a_lifecycle_change_reaches_new_nodes_only_and_says_so() -> None:
    new = cluster(a=4)
    new["Properties"]["InstanceGroups"][0]["LifeCycleConfig"] = {"SourceS3Uri": "s3://b/2/"}
    found = plan(cluster(a=4), new)
    assert found.refusals() == []
    assert any("nodes that keep what they have: 4" in note for note in words.notes(found))
    assert not any("keep what they have" in note for note in words.notes(plan(cluster(a=4), cluster(a=4))))


def file_system(action: Any, *, stays: bool) -> Change:
    return Change("storage", "FileSystem", "AWS::FSx::FileSystem", action, ("SubnetIds",), stays)


@pytest.mark.parametrize(
    ("action", "stays", "refused"),
    [("replace", True, True), ("replace", False, True), ("remove", False, True), ("remove", True, False)],
)
def test_data_is_replaced_or_lost_only_when_that_is_allowed(action: str, stays: bool, refused: bool) -> None:
    found = plan(cluster(a=1), cluster(a=1), resources=(file_system(action, stays=stays),))
    assert bool(found.refusals()) is refused
    assert found.refusals(allow_replace=True) == []
    assert len(words.data_lines(found)) == 1


def test_a_replaced_cluster_is_refused_and_a_replaced_route_is_not() -> None:
    fresh = Change("cluster", "Cluster", "AWS::SageMaker::Cluster", "replace", ("VpcConfig",))
    route = Change("network", "Route", "AWS::EC2::Route", "replace", ("DestinationCidrBlock",))
    found = plan(cluster(a=1), cluster(a=1), resources=(fresh, route), fresh=True)
    assert [refusal.what for refusal in found.refusals()] == [
        "the cluster Cluster (cluster) would be replaced"
    ]


def test_the_document_holds_what_the_tables_say() -> None:
    found = plan(
        cluster(a=4), cluster(a=2), there=nodes(a=4), resources=(file_system("replace", stays=True),)
    )
    document = words.document(found, found.refusals(), None)
    assert document["groups"] == [
        {
            "name": "a", "instance_type": "ml.p4de.24xlarge", "now": 4, "after": 2, "properties": (),
            "fresh": False, "added": 0, "removed": 2, "kept": 2,
        }
    ]  # fmt: skip
    assert [refusal["what"] for refusal in document["refusals"]] == [  # type: ignore[attr-defined]
        "the file system FileSystem (storage) would be replaced",
        "group a would go from 4 to 2 nodes",
    ]


def test_nothing_to_do_is_empty() -> None:
    assert plan(cluster(a=4), cluster(a=4)).empty
    assert not plan(cluster(a=4), cluster(a=5)).empty


def test_rows_say_what_happens_to_each_group() -> None:
    group = GroupChange("a", "ml.p4de.24xlarge", 4, 6, ("ThreadsPerCore",))
    found = Plan((), (), (), (group,), (), bundle_changes=False)
    assert words.node_rows(found) == [
        ("a", "ml.p4de.24xlarge", "4 -> 6", "4 kept, 2 added, changed: ThreadsPerCore")
    ]


def test_nodes_that_stay_do_not_get_a_new_file_system_and_that_is_said() -> None:
    def said(action: str) -> bool:
        found = plan(cluster(a=2), cluster(a=2), resources=(file_system(action, stays=False),))
        return any("do not get the new one: 2;" in note for note in words.notes(found))

    assert said("replace")
    assert not said("remove")


def test_what_fsx_refuses_is_refused_even_where_replacement_is_allowed() -> None:
    shrinking = Refusal("it would shrink", "FSx only lets it grow", "keep its size")
    found = Plan((), (), (), (), (), bundle_changes=False, refused_by_fsx=(shrinking,))
    assert found.refusals(allow_replace=True) == [shrinking]


@pytest.mark.parametrize("name", ["InstanceType", "ExecutionRole", "OverrideVpcConfig", "ThreadsPerCore"])
def test_what_the_schema_says_to_be_fixed_of_a_group_is_refused(name: str) -> None:
    new = cluster(a=4)
    new["Properties"]["InstanceGroups"][0][name] = "another"
    assert [refusal.what for refusal in plan(cluster(a=4), new).refusals()] == [
        f"{name} of group a would change"
    ]
