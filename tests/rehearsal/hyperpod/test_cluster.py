"""The cluster as a whole: creation, growth, shrinking, failure and rollback, deletion, software update."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rehearsal.hyperpod.fakes import (
    BUNDLE,
    CONTROLLER,
    WORKER_1,
    WORKER_2,
    WORKER_3,
    Bench,
    FakeMachine,
    group,
    request,
    resize,
)
from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.hyperpod.errors import ServiceError

CLUSTER = {"ClusterName": "ml"}


def fail_on(bench: Bench, *names: str) -> None:
    """Make the script of these nodes fail from now on."""
    bench.machines.script = lambda machine: (1 if machine.spec.name in names else 0, "")


@pytest.mark.behaviour("HP024")
def test_one_failing_node_fails_the_creation() -> None:
    bench = Bench()
    fail_on(bench, WORKER_2)
    bench.service.create_cluster(request(2))
    bench.settle()
    outcome = bench.service.wait("ml", 1.0)
    assert (outcome.ok, outcome.status, outcome.message) == (False, "Failed", messages.LIFECYCLE_FAILED)
    assert all(not machine.up and machine.discarded for machine in bench.machines.made)
    assert bench.nodes() == [] and bench.store.interfaces == {}
    with pytest.raises(ServiceError, match="is in Failed state"):
        bench.service.update_cluster(resize(1))
    bench.service.delete_cluster(CLUSTER)
    bench.settle()
    fail_on(bench)
    bench.up()


@pytest.mark.behaviour("HP025")
def test_one_failing_node_takes_the_update_back() -> None:
    bench = Bench()
    bench.up(2)
    before = bench.ids("")
    fail_on(bench, WORKER_3)
    bench.service.update_cluster(resize(3))
    bench.settle()
    outcome = bench.service.wait("ml", 1.0)
    assert (outcome.ok, outcome.status, outcome.message) == (False, "InService", messages.LIFECYCLE_FAILED)
    assert bench.ids("") == before and not bench.machine(WORKER_3).up
    assert bench.describe()["InstanceGroups"][1]["TargetCount"] == 2
    assert bench.events.statuses("ml")[-3:] == ["Updating", "RollingBack", "InService"]
    bench.machines.script = lambda machine: (0, "")
    bench.service.update_cluster(resize(3))
    bench.settle()
    assert bench.service.wait("ml", 1.0).ok and len(bench.ids()) == 3


@pytest.mark.behaviour("HP026")
def test_growing_boots_the_new_nodes_only() -> None:
    bench = Bench()
    bench.up(2)
    before = bench.ids("")
    scripts = len(bench.machines.order("script"))
    bench.service.update_cluster(resize(3))
    assert bench.status() == "Updating" and bench.describe()["InstanceGroups"][1]["Status"] == "Updating"
    bench.settle()
    assert set(before) < set(bench.ids("")) and bench.machines.order("script")[scripts:] == [WORKER_3]
    group_view = bench.describe()["InstanceGroups"][1]
    assert (group_view["CurrentCount"], group_view["TargetCount"], group_view["Status"]) == (
        3,
        3,
        "InService",
    )


@pytest.mark.behaviour("HP027")
def test_shrinking_ends_the_highest_numbers() -> None:
    bench = Bench()
    bench.up(3)
    kept = bench.ids()[:1]
    bench.service.update_cluster(resize(1))
    bench.machines.log.clear()
    bench.settle()
    assert bench.ids() == kept
    told = [name for what, name in bench.machines.log if what.endswith("resource_config.json")]
    assert told[0] == CONTROLLER and bench.machines.order("power_off") == [WORKER_2, WORKER_3]
    first_off = next(n for n, (what, _) in enumerate(bench.machines.log) if what == "power_off")
    assert [name for what, name in bench.machines.log[:first_off] if what.endswith("_config.json")].count(
        CONTROLLER
    ) == 1, "once, before they end"
    assert told.count(CONTROLLER) == 1, "an unchanged file is not written again"
    assert [bench.machine(name).up for name in (WORKER_1, WORKER_2, WORKER_3)] == [True, False, False]
    assert sorted(bench.store.interfaces.values()) == ["10.0.128.10", "10.0.128.11"]
    config = json.loads(bench.machine(CONTROLLER).files["/opt/ml/config/resource_config.json"])
    assert len(config["InstanceGroups"][1]["Instances"]) == 1
    none_left = {"ClusterName": "ml", "InstanceGroups": [group("controller-machine", 0)]}
    with pytest.raises(ServiceError, match="must have an instance"):
        bench.service.update_cluster(none_left)


def test_growing_again_gives_the_same_names() -> None:
    bench = Bench()
    bench.up(3)
    for count in (1, 3):
        bench.service.update_cluster(resize(count))
        bench.settle()
    assert [row["NodeLogicalId"] for row in bench.nodes("workers")] == ["workers-1", "workers-2", "workers-3"]
    assert len(bench.machines.of(WORKER_3)) == 2


def test_a_new_group_joins() -> None:
    bench = Bench()
    bench.up(1)
    bench.service.update_cluster({"ClusterName": "ml", "InstanceGroups": [group("more", 1, "ml.m5.xlarge")]})
    bench.settle()
    assert [g["InstanceGroupName"] for g in bench.describe()["InstanceGroups"]][2:] == ["more"]
    assert bench.machine(WORKER_2).spec.instance_type == "ml.m5.xlarge"


def test_a_new_group_that_fails_leaves_no_trace() -> None:
    bench = Bench()
    bench.up(1)
    fail_on(bench, WORKER_2)
    bench.service.update_cluster({"ClusterName": "ml", "InstanceGroups": [group("more", 1)]})
    bench.settle()
    assert len(bench.describe()["InstanceGroups"]) == 2 and not bench.service.wait("ml", 1.0).ok


@pytest.mark.behaviour("HP029")
def test_cluster_statuses_in_their_order() -> None:
    bench = Bench()
    bench.up(1)
    bench.service.update_cluster(resize(2))
    bench.settle()
    bench.service.update_cluster_software(CLUSTER)
    bench.settle()
    bench.service.delete_cluster(CLUSTER)
    bench.settle()
    fail_on(bench, CONTROLLER)
    bench.service.create_cluster(request(1))
    bench.settle()
    assert bench.events.statuses("ml") == [
        "Creating", "InService", "Updating", "InService", "SystemUpdating", "InService", "Deleting",
        "Deleted", "Creating", "RollingBack", "Failed",
    ]  # fmt: skip


@pytest.mark.behaviour("HP030")
def test_deletion_leaves_nothing() -> None:
    bench = Bench()
    bench.up(2)
    bench.service.update_cluster(resize(3))
    with pytest.raises(ServiceError) as caught:
        bench.service.delete_cluster(CLUSTER)
    assert caught.value.code == "ConflictException"
    bench.settle()
    bench.service.delete_cluster(CLUSTER)
    assert bench.status() == "Deleting"
    bench.settle()
    assert all(not machine.up and machine.discarded for machine in bench.machines.made)
    assert bench.store.interfaces == {}
    with pytest.raises(ServiceError) as gone:
        bench.describe()
    assert gone.value.code == "ResourceNotFound"
    assert bench.service.wait("ml", 1.0).status == "Deleted"


@pytest.mark.behaviour("HP031")
def test_failure_message_stays() -> None:
    bench = Bench()
    bench.up(1)
    fail_on(bench, WORKER_2)
    bench.service.update_cluster(resize(2))
    bench.settle()
    bench.machines.script = lambda machine: (0, "")
    bench.service.update_cluster(resize(2))
    bench.settle()
    assert bench.service.wait("ml", 1.0).ok
    assert bench.describe()["FailureMessage"] == messages.LIFECYCLE_FAILED
    fail_on(bench, WORKER_1)
    bench.service.replace_requested("ml", WORKER_1, "Action:Replace")
    bench.settle()
    bench.service.update_cluster_software(CLUSTER)
    [row] = [row for row in bench.nodes() if row["NodeLogicalId"] == "workers-1"]
    assert row["InstanceStatus"] == {"Status": "Failure", "Message": messages.LIFECYCLE_FAILED}
    seen: list[dict[str, str]] = []

    def look(machine: FakeMachine) -> tuple[int, str]:
        seen.extend(r["InstanceStatus"] for r in bench.nodes() if r["NodeLogicalId"] == "workers-1")
        return 0, ""

    bench.machines.script = look
    bench.settle()
    assert {"Status": "SystemUpdating", "Message": messages.LIFECYCLE_FAILED} in seen


@pytest.mark.behaviour("HP034")
def test_software_update_renews_roots_under_the_same_ids() -> None:
    bench = Bench()
    bench.up(2)
    ids, old = bench.ids(""), list(bench.machines.made)
    bench.clock.sleep(100)
    states = []

    def script(machine: FakeMachine) -> tuple[int, str]:
        states.append(bench.describe()["InstanceGroups"][1]["SoftwareUpdateStatus"])
        return 0, ""

    bench.machines.script = script
    bench.service.update_cluster_software(CLUSTER)
    states.append(bench.describe()["InstanceGroups"][1]["SoftwareUpdateStatus"])
    bench.settle()
    states.append(bench.describe()["InstanceGroups"][1]["SoftwareUpdateStatus"])
    assert states == ["Pending", "InProgress", "InProgress", "InProgress", "Succeeded"]
    assert bench.ids("") == ids and all(machine.discarded for machine in old)
    assert bench.machines.order("script")[3] == CONTROLLER and len(bench.machines.order("script")) == 6
    assert all(row["LastSoftwareUpdateTime"] == bench.clock.t for row in bench.nodes())


@pytest.mark.behaviour("HP035")
@pytest.mark.parametrize(
    ("failures", "state", "ok"),
    [(1, "Succeeded", True), (2, "RollbackComplete", False), (9, "Failed", False)],
)
def test_software_update_that_fails(failures: int, state: str, ok: bool) -> None:
    bench = Bench(software_update_attempts=2)
    bench.up(1)
    left = [failures]

    def script(machine: FakeMachine) -> tuple[int, str]:
        if machine.spec.name != WORKER_1 or left[0] == 0:
            return 0, ""
        left[0] -= 1
        return 1, ""

    bench.machines.script = script
    bench.service.update_cluster_software({**CLUSTER, "InstanceGroups": [{"InstanceGroupName": "workers"}]})
    bench.settle()
    assert bench.describe()["InstanceGroups"][1]["SoftwareUpdateStatus"] == state
    assert bench.service.wait("ml", 1.0).ok is ok
    assert bench.nodes("workers")[0]["InstanceStatus"]["Status"] == (
        "Failure" if state == "Failed" else "Running"
    )
    assert len(bench.machines.of(CONTROLLER)) == 1, "only the groups named"


def test_software_update_is_refused_for_strangers_and_busy_nodes() -> None:
    bench = Bench()
    bench.up(1)
    with pytest.raises(ServiceError, match="strangers do not exist"):
        bench.service.update_cluster_software(
            {**CLUSTER, "InstanceGroups": [{"InstanceGroupName": "strangers"}]}
        )
    bench.service.replace_requested("ml", WORKER_1, "Action:Replace")
    with pytest.raises(ServiceError, match="Another operation is in progress") as caught:
        bench.service.update_cluster_software(CLUSTER)
    assert caught.value.code == "ConflictException"


def test_nodes_file_follows_every_change(tmp_path: Path) -> None:
    bench = Bench(state_dir=tmp_path)
    bench.up(1)
    rows = json.loads((tmp_path / "nodes.json").read_text())
    assert rows[1] == {
        "name": WORKER_1,
        "group": "workers",
        "ip": "10.0.128.11",
        "instance_id": bench.ids()[0],
        "inner_pid": bench.machine(WORKER_1).pid,
        "status": "Running",
    }
    bench.service.delete_cluster(CLUSTER)
    bench.settle()
    assert json.loads((tmp_path / "nodes.json").read_text()) == []


def test_a_replaced_node_takes_the_newest_bundle() -> None:
    bench = Bench()
    bench.up(1)
    newer = BUNDLE.replace("abc", "def")
    bench.store.bundles[newer] = dict(bench.store.bundles[BUNDLE])
    changed = group("workers", 1)
    changed["LifeCycleConfig"] = {"SourceS3Uri": newer, "OnCreate": "on_create.sh"}
    bench.service.update_cluster({"ClusterName": "ml", "InstanceGroups": [changed]})
    bench.settle()
    assert len(bench.machines.of(WORKER_1)) == 1
    bench.service.replace_requested("ml", WORKER_1, "Action:Replace")
    bench.settle()
    assert bench.machine(WORKER_1).calls[-1].startswith("/tmp/sagemaker-lifecycle/lifecycle/def$")
