"""Replace and reboot: by the agent, by hand, and what is refused."""

from __future__ import annotations

import json

import pytest

from tests.rehearsal.hyperpod.fakes import CONTROLLER, WORKER_1, WORKER_2, Bench
from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.machines import SecurityGroup

REPLACE = "Action:Replace"


@pytest.mark.behaviour("HP032")
def test_a_replaced_node() -> None:
    bench = Bench(replacement_seconds=1500.0)
    bench.up(2)
    [first, other] = bench.ids()
    old = bench.machine(WORKER_1)
    old.files["/root/mine"] = b"x"
    began = bench.clock.t
    answer = bench.service.replace_requested("ml", WORKER_1, REPLACE)
    assert answer == {"accepted": True, "message": f"Action:Replace of {WORKER_1} begins"}
    bench.settle()
    new = bench.machine(WORKER_1)
    assert bench.clock.t - began == 1500.0
    assert (new.spec.name, new.spec.address) == (old.spec.name, old.spec.address)
    assert new.spec.instance_id == bench.ids()[0] != first and bench.ids()[1] == other
    assert old.discarded and not old.up and "/root/mine" not in new.files
    assert bench.machines.order("script").count(WORKER_1) == 2
    assert bench.events.statuses(WORKER_1) == ["Running", "Pending", "Pending", "Running"]
    config = json.loads(bench.machine(CONTROLLER).files["/opt/ml/config/resource_config.json"])
    assert config["InstanceGroups"][1]["Instances"][0]["InstanceId"] == bench.ids()[0]


@pytest.mark.behaviour("HP033")
def test_a_rebooted_node() -> None:
    bench = Bench()
    bench.up(1)
    before, machine = bench.ids(), bench.machine(WORKER_1)
    assert bench.service.replace_requested("", WORKER_1, "Action:Reboot")["accepted"]
    bench.settle()
    assert bench.ids() == before and bench.machine(WORKER_1) is machine and not machine.discarded
    assert bench.machines.order("reboot") == [WORKER_1]
    assert bench.machines.order("script").count(WORKER_1) == 1
    assert bench.nodes("workers")[0]["InstanceStatus"] == {"Status": "Running"}


def test_a_node_that_does_not_come_back_from_reboot() -> None:
    bench = Bench()
    bench.up(1)
    bench.machines.dead_on_boot.add(WORKER_1)
    bench.service.replace_requested("ml", WORKER_1, "Action:Reboot")
    bench.settle()
    status = bench.nodes("workers")[0]["InstanceStatus"]
    assert status["Status"] == "Failure" and "does not come back" in status["Message"]
    bench.machines.dead_on_boot.clear()
    assert bench.service.replace_requested("ml", WORKER_1, REPLACE)["accepted"]
    bench.settle()
    assert bench.nodes("workers")[0]["InstanceStatus"] == {"Status": "Running"}


@pytest.mark.behaviour("HP036")
def test_a_controller_is_not_replaced() -> None:
    bench = Bench()
    bench.up(1)
    answer = bench.service.replace_requested("ml", CONTROLLER, REPLACE)
    assert not answer["accepted"] and "cannot be replaced" in answer["message"]
    [controller] = bench.ids("controller-machine")
    batch = bench.service.batch_replace_cluster_nodes({"ClusterName": "ml", "NodeIds": [controller]})
    assert batch["Failed"][0]["ErrorCode"] == "InvalidInstanceStatus" and "Successful" not in batch
    assert not bench.queue
    assert bench.service.batch_reboot_cluster_nodes({"ClusterName": "ml", "NodeIds": [controller]}) == {
        "Successful": [controller]
    }


@pytest.mark.behaviour("HP037")
def test_at_most_25_nodes() -> None:
    bench = Bench()
    bench.up(1)
    ids = [f"i-{n:017x}" for n in range(26)]
    for body in (
        {"NodeIds": ids},
        {"NodeIds": ids[:20], "NodeLogicalIds": [f"workers-{n}" for n in range(6)]},
        {},
    ):
        for call in (bench.service.batch_replace_cluster_nodes, bench.service.batch_reboot_cluster_nodes):
            with pytest.raises(ServiceError) as caught:
                call({"ClusterName": "ml", **body})
            assert caught.value.code == "ValidationException"
    assert (
        len(bench.service.batch_replace_cluster_nodes({"ClusterName": "ml", "NodeIds": ids[:25]})["Failed"])
        == 25
    )


@pytest.mark.behaviour("HP038")
def test_batches_need_a_cluster_in_service() -> None:
    bench = Bench()
    bench.up(1)
    ids = bench.ids()
    bench.service.update_cluster_software({"ClusterName": "ml"})
    with pytest.raises(ServiceError, match="is in SystemUpdating state"):
        bench.service.batch_replace_cluster_nodes({"ClusterName": "ml", "NodeIds": ids})
    with pytest.raises(ServiceError) as caught:
        bench.service.batch_reboot_cluster_nodes({"ClusterName": "nothing", "NodeIds": ids})
    assert caught.value.code == "ResourceNotFound"


@pytest.mark.behaviour("HP039")
def test_a_cluster_never_patched_refuses_batches_if_told_to() -> None:
    bench = Bench(require_patched=True)
    bench.up(1)
    body = {"ClusterName": "ml", "NodeIds": bench.ids()}
    with pytest.raises(ServiceError, match="must be updated with UpdateClusterSoftware once"):
        bench.service.batch_reboot_cluster_nodes(body)
    bench.service.update_cluster_software({"ClusterName": "ml"})
    bench.settle()
    assert bench.service.batch_reboot_cluster_nodes(body)["Successful"] == body["NodeIds"]


@pytest.mark.behaviour("HP040")
def test_a_batch_succeeds_in_part() -> None:
    bench = Bench()
    bench.up(2)
    [first, second] = bench.ids()
    bench.service.replace_requested("ml", WORKER_1, REPLACE)
    unknown = "i-0123456789abcdef0"
    answer = bench.service.batch_replace_cluster_nodes(
        {"ClusterName": "ml", "NodeIds": [first, second, unknown], "NodeLogicalIds": ["workers-9"]}
    )
    assert answer["Successful"] == [second]
    assert [(row["NodeId"], row["ErrorCode"]) for row in answer["Failed"]] == [
        (first, "InstanceIdInUse"), (unknown, "InstanceIdNotFound"),
    ]  # fmt: skip
    assert answer["FailedNodeLogicalIds"][0]["ErrorCode"] == "InstanceIdNotFound"
    bench.settle()
    assert not {first, second} & set(bench.ids())
    by_name = {"ClusterName": "ml", "NodeLogicalIds": ["workers-1"]}
    assert bench.service.batch_reboot_cluster_nodes(by_name) == {"SuccessfulNodeLogicalIds": ["workers-1"]}


@pytest.mark.behaviour("HP041")
@pytest.mark.parametrize(
    "reason", ["Action: Replace", "action:replace", "Action:Replace ", "Action:Replace.", ""]
)
def test_near_misses_do_nothing_silently(reason: str) -> None:
    bench = Bench()
    bench.up(1)
    told = len(bench.events.all)
    assert bench.service.replace_requested("ml", WORKER_1, reason) == {"accepted": False, "message": ""}
    assert not bench.queue and len(bench.events.all) == told
    assert bench.service.replace_requested("ml", WORKER_1, REPLACE)["accepted"]


@pytest.mark.behaviour("HP042")
def test_node_recovery_none_only_marks() -> None:
    bench = Bench()
    bench.up(1, NodeRecovery="None")
    answer = bench.service.replace_requested("ml", WORKER_1, REPLACE)
    assert not answer["accepted"] and "NodeRecovery of cluster ml is None" in answer["message"]
    assert not bench.queue
    by_hand = bench.service.batch_replace_cluster_nodes({"ClusterName": "ml", "NodeIds": bench.ids()})
    assert by_hand["Successful"]


@pytest.mark.behaviour("HP043")
def test_a_machine_that_dies_waits_for_a_request() -> None:
    bench = Bench()
    bench.up(2)
    bench.service.poll_health()
    assert bench.events.statuses(WORKER_1) == ["Running"]
    bench.machine(WORKER_1).up = False
    bench.service.poll_health()
    bench.service.poll_health()
    assert bench.events.statuses(WORKER_1) == ["Running", "Failure"]
    assert bench.nodes("workers")[0]["InstanceStatus"] == {
        "Status": "Failure",
        "Message": messages.UNREACHABLE,
    }
    assert bench.events.statuses(WORKER_2) == ["Running"] and not bench.queue
    assert bench.service.replace_requested("ml", WORKER_1, REPLACE)["accepted"]
    bench.settle()
    assert bench.nodes("workers")[0]["InstanceStatus"] == {"Status": "Running"}


def test_a_node_being_replaced_is_not_called_dead() -> None:
    bench = Bench()
    bench.up(1)
    bench.service.replace_requested("ml", WORKER_1, REPLACE)
    bench.machine(WORKER_1).up = False
    bench.service.poll_health()
    assert bench.events.statuses(WORKER_1) == ["Running"]
    again = bench.service.replace_requested("ml", WORKER_1, REPLACE)
    assert not again["accepted"] and "in progress" in again["message"]


@pytest.mark.behaviour("HP044")
def test_a_replacement_that_fails_its_efa_check() -> None:
    bench = Bench()
    bench.up(1, worker={"InstanceType": "ml.p4de.24xlarge"})
    bench.store.groups["sg-1"] = SecurityGroup("sg-1", "vpc-1", True, False)
    bench.service.replace_requested("ml", WORKER_1, REPLACE)
    bench.settle()
    status = bench.nodes("workers")[0]["InstanceStatus"]
    assert status == {"Status": "Failure", "Message": messages.REPLACEMENT_EFA_FAILED}
    assert bench.status() == "InService"


def test_unknown_nodes_are_refused() -> None:
    bench = Bench()
    bench.up(1)
    assert not bench.service.replace_requested("ml", "ip-1-2-3-4", REPLACE)["accepted"]
    assert not bench.service.replace_requested("other", WORKER_1, REPLACE)["accepted"]


def test_a_cluster_on_its_way_out_gets_no_new_machine() -> None:
    bench = Bench()
    bench.up(1)
    bench.service.replace_requested("ml", WORKER_1, REPLACE)
    replacement = bench.queue.popleft()
    bench.service.delete_cluster({"ClusterName": "ml"})
    assert not bench.service.replace_requested("ml", WORKER_1, REPLACE)["accepted"]
    replacement[1]()
    bench.settle()
    assert all(machine.discarded and not machine.up for machine in bench.machines.made)


@pytest.mark.behaviour("HP050")
def test_the_echo_of_a_reboot_is_not_a_failure() -> None:
    bench = Bench(echo_seconds=3.0)
    bench.up(1)
    bench.service.batch_reboot_cluster_nodes({"ClusterName": "ml", "NodeIds": bench.ids()})
    bench.settle()
    echo = bench.service.replace_requested("ml", WORKER_1, REPLACE)
    assert not echo["accepted"] and "has just ended" in echo["message"]
    bench.machine(WORKER_1).up = False
    assert bench.service.replace_requested("ml", WORKER_1, REPLACE)["accepted"], "it really died"
    bench.settle()
    bench.clock.sleep(3.0)
    assert bench.service.replace_requested("ml", WORKER_1, REPLACE)["accepted"], "later it counts"
