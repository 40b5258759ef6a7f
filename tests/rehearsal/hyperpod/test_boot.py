"""One node's boot: order, files, bundle, script, log, failures."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.rehearsal.hyperpod.fakes import (
    BUNDLE,
    CONTROLLER,
    FOLDER,
    LOG,
    WORKER_1,
    WORKER_2,
    Bench,
    FakeMachine,
    group,
    request,
    resize,
)
from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.hyperpod.machines import MachineError, SecurityGroup

CONFIG = "/opt/ml/config"


def failed(bench: Bench, workers: int = 1, **changes: Any) -> str:
    """The message of a cluster that could not be made."""
    bench.service.create_cluster(request(workers, **changes))
    bench.settle()
    assert bench.status() == "Failed"
    return str(bench.describe()["FailureMessage"])


def stream(bench: Bench, instance_id: str, group_name: str = "workers") -> list[str]:
    arn = bench.describe()["ClusterArn"]
    name = f"/aws/sagemaker/Clusters/ml/{arn.rsplit('/', 1)[1]}"
    return bench.store.streams.get((name, f"LifecycleConfig/{group_name}/{instance_id}"), [])


@pytest.mark.behaviour("HP007")
@pytest.mark.parametrize(("ingress", "egress"), [(True, False), (False, True)])
def test_efa_needs_a_group_that_refers_to_itself_both_ways(ingress: bool, egress: bool) -> None:
    bench = Bench()
    bench.store.groups["sg-1"] = SecurityGroup("sg-1", "vpc-1", ingress, egress)
    assert failed(bench, worker={"InstanceType": "ml.p4de.24xlarge"}) == messages.EFA_FAILED
    assert bench.machines.order("script") == [CONTROLLER]
    assert not [key for key in bench.store.streams if "/workers/" in key[1]]


def test_without_efa_or_with_both_rules_nodes_boot() -> None:
    bench = Bench()
    bench.up(1, worker={"InstanceType": "ml.p4de.24xlarge"})
    plain = Bench()
    plain.store.groups["sg-1"] = SecurityGroup("sg-1", "vpc-1", False, False)
    plain.up(1)


@pytest.mark.behaviour("HP012")
def test_controller_first_then_the_rest_at_once() -> None:
    bench = Bench()
    together = threading.Barrier(2, timeout=20)

    def script(machine: FakeMachine) -> tuple[int, str]:
        if machine.spec.name != CONTROLLER:
            assert bench.machines.order("script").count(CONTROLLER) == 1
            together.wait()
        return 0, ""

    bench.machines.script = script
    bench.up(2)
    assert bench.machines.log.index(("script", CONTROLLER)) < bench.machines.log.index(("boot", WORKER_1))
    assert sorted(bench.machines.order("script")) == [CONTROLLER, WORKER_1, WORKER_2]


@pytest.mark.behaviour("HP013")
def test_failing_controller_fails_all() -> None:
    bench = Bench()
    bench.machines.script = lambda machine: (1, "no\n")
    assert failed(bench, 2) == messages.LIFECYCLE_FAILED
    assert bench.machines.order("boot") == [CONTROLLER]
    assert bench.events.statuses(WORKER_1)[0] == bench.events.statuses(WORKER_2)[0] == "Failure"


@pytest.mark.behaviour("HP014")
def test_files_are_there_before_the_script() -> None:
    bench = Bench()
    seen: dict[str, set[str]] = {}

    def script(machine: FakeMachine) -> tuple[int, str]:
        seen[machine.spec.name] = {path for path in machine.files if path.startswith(CONFIG)}
        return 0, ""

    bench.machines.script = script
    bench.up(1)
    common = {
        "resource_config.json",
        "provisioning_parameters.json",
        "life_cycle_config.json",
        "host_agent.json",
    }
    assert seen[WORKER_1] == {f"{CONFIG}/{name}" for name in common}
    assert seen[CONTROLLER] == {f"{CONFIG}/{name}" for name in common | {"cluster_agent.json"}}
    worker = bench.machine(WORKER_1)
    assert (
        worker.files[f"{CONFIG}/provisioning_parameters.json"]
        == (bench.store.bundles[BUNDLE]["provisioning_parameters.json"])
    )
    assert "mkdir -p /opt/sagemaker_cluster" in worker.calls[0]


def test_agent_is_told_what_the_instance_types_have() -> None:
    bench = Bench(gres=True)
    bench.up(1, worker={"InstanceType": "ml.p4de.24xlarge", "ThreadsPerCore": 1}, NodeRecovery="None")
    agent = json.loads(bench.machine(CONTROLLER).files[f"{CONFIG}/cluster_agent.json"])
    assert agent["NodeRecovery"] == "None" and agent["Emulator"]["Gres"] is True
    shape = agent["Emulator"]["InstanceTypes"]["ml.p4de.24xlarge"]
    assert shape == {"Cpus": 48, "MemoryMib": 1152 * 1024, "Gpus": 8}
    spec = bench.machine(WORKER_1).spec
    assert (spec.gpus, spec.role_name, spec.ebs_gib) == (8, "execution", 0) and spec.nvme_gib > 0


@pytest.mark.parametrize("told", [True, False])
def test_agent_is_told_whether_login_nodes_are_in_slurm(told: bool) -> None:
    bench = Bench(login_nodes_in_slurm=told)
    bench.up(1)
    agent = json.loads(bench.machine(CONTROLLER).files[f"{CONFIG}/cluster_agent.json"])
    assert agent["Emulator"]["LoginNodesInSlurm"] is told


@pytest.mark.behaviour("HP015")
def test_resource_config_has_the_shape_seen() -> None:
    bench = Bench()
    body = request(1)
    body["InstanceGroups"].append(group("later", 0))
    bench.service.create_cluster(body)
    bench.settle()
    text = bench.machine(WORKER_1).files[f"{CONFIG}/resource_config.json"].decode()
    config = json.loads(text)
    assert config["ClusterConfig"] == {
        "ClusterName": "ml",
        "ClusterArn": bench.describe()["ClusterArn"],
        "ClusterType": "Slurm",
        "SlurmConfig": {"PrimaryControllerIp": "10.0.128.10", "SecondaryControllerIps": []},
    }
    assert [g["Name"] for g in config["InstanceGroups"]] == ["controller-machine", "workers", "later"]
    assert config["InstanceGroups"][2]["Instances"] is None
    assert config["InstanceGroups"][1]["Instances"] == [
        {
            "InstanceName": "workers-1",
            "InstanceId": bench.ids()[0],
            "AgentIpAddress": "172.16.128.11",
            "CustomerIpAddress": "10.0.128.11",
            "InstanceLabel": None,
        }
    ]
    assert all(line.count('": ') <= 1 for line in text.splitlines()), "one key a line"


@pytest.mark.behaviour("HP016")
def test_controller_is_told_first_and_workers_late() -> None:
    bench = Bench()
    bench.up(1)
    bench.machines.log.clear()
    bench.service.update_cluster(resize(2))
    bench.settle(but="resource-config")
    path = f"put {CONFIG}/resource_config.json"

    def known(name: str) -> int:
        return len(
            json.loads(bench.machine(name).files[f"{CONFIG}/resource_config.json"])["InstanceGroups"][1][
                "Instances"
            ]
        )

    assert known(CONTROLLER) == 2 and known(WORKER_1) == 1
    assert bench.machines.log.index((path, CONTROLLER)) < bench.machines.log.index(("boot", WORKER_2))
    bench.settle()
    assert known(WORKER_1) == 2


@pytest.mark.behaviour("HP017")
def test_bundle_is_unpacked_and_run_in_its_folder() -> None:
    bench = Bench()
    bench.store.bundles[BUNDLE] |= {"../evil": b"x", "folder/": b""}
    bench.up(1)
    worker = bench.machine(WORKER_1)
    assert worker.files[f"{FOLDER}/on_create.sh"] == b"echo hello\n"
    assert worker.files[f"{FOLDER}/lib/step.py"] == b"pass\n"
    assert worker.modes[f"{FOLDER}/on_create.sh"] == 0o644
    assert not [path for path in worker.files if "evil" in path or path.endswith("/")]
    environment = {"SAGEMAKER_RESOURCE_CONFIG_PATH": f"{CONFIG}/resource_config.json"}
    assert worker.calls[-1] == f"{FOLDER}$ bash on_create.sh {environment}"


@pytest.mark.behaviour("HP018")
def test_role_without_permission_fails_the_boot() -> None:
    bench = Bench()
    bench.store.denied.add("execution")
    assert failed(bench) == messages.LIFECYCLE_FAILED
    assert bench.machines.order("script") == []
    lines = [line for lines in bench.store.streams.values() for line in lines]
    assert lines == [
        messages.LOG_DOWNLOADING,
        "[SageMaker] execution is not authorized to perform: s3:GetObject",
    ]


def test_missing_script_or_bucket_fails_the_boot() -> None:
    bench = Bench()
    del bench.store.bundles[BUNDLE]["on_create.sh"]
    assert failed(bench) == messages.LIFECYCLE_FAILED
    empty = Bench()
    empty.store.bundles.clear()
    assert failed(empty) == messages.LIFECYCLE_FAILED


@pytest.mark.behaviour("HP019")
def test_log_is_on_the_node_in_the_stream_and_among_the_events() -> None:
    bench = Bench()
    step = {"step": "storage", "result": "done", "seconds": 1.5}
    bench.machines.script = lambda machine: (0, f"hello\n{json.dumps(step)}\n{{broken\nlast")
    bench.up(1)
    assert bench.machine(WORKER_1).files[LOG].startswith(b"hello\n")
    assert stream(bench, bench.ids()[0]) == [
        messages.LOG_DOWNLOADING, "hello", json.dumps(step), "{broken", "last", messages.LOG_SUCCEEDED,
    ]  # fmt: skip
    assert ("node", "lifecycle", WORKER_1, step) in bench.events.all
    assert ("node", "lifecycle_line", WORKER_1, {"line": "hello"}) in bench.events.all


@pytest.mark.behaviour("HP020")
def test_exit_code_decides() -> None:
    bench = Bench()
    bench.machines.script = lambda machine: (3 if machine.spec.name == WORKER_2 else 0, "")
    assert failed(bench, 2) == messages.LIFECYCLE_FAILED
    assert bench.events.statuses(WORKER_1)[0] == "Running"
    assert bench.events.statuses(WORKER_2)[0] == "Failure"
    lines = [line for lines in bench.store.streams.values() for line in lines]
    assert "[SageMaker] on_create.sh ended with exit code 3" in lines


@pytest.mark.behaviour("HP021")
def test_hanging_script_fails() -> None:
    bench = Bench(lifecycle_timeout_seconds=7.0)
    bench.machines.script = lambda machine: (None, "waiting\n")
    assert failed(bench) == messages.LIFECYCLE_FAILED
    lines = [line for lines in bench.store.streams.values() for line in lines]
    assert lines[-2:] == ["waiting", "[SageMaker] on_create.sh did not end within 7 s"]


@pytest.mark.behaviour("HP022")
def test_munge_key_is_the_clusters() -> None:
    bench = Bench()
    bench.up(1)
    bench.service.create_cluster(request(0, ClusterName="other"))
    bench.settle()
    keys = [machine.files["/etc/munge/munge.key"] for machine in bench.machines.made]
    assert keys[0] == keys[1] != keys[2] and len(keys[0]) >= 32
    assert bench.machines.made[0].modes["/etc/munge/munge.key"] == 0o400


@pytest.mark.behaviour("HP023")
def test_slurm_conf_is_awaited_on_the_controller() -> None:
    bench = Bench()
    bench.up(1)
    without = Bench(slurm_conf_timeout_seconds=5.0)
    without.machines.agent = False
    text = failed(without)
    assert f"{CONTROLLER}: the cluster agent wrote no /opt/slurm/etc/slurm.conf within 5 s" in text
    assert without.machines.order("script") == []


def test_machine_that_does_not_start_fails_its_node() -> None:
    bench = Bench()
    bench.machines.dead_on_boot.add(WORKER_1)
    assert failed(bench).startswith(messages.MACHINE_FAILED)


def test_file_systems_can_be_mounted() -> None:
    bench = Bench()
    bench.up(1)
    assert bench.machines.attached == {"fs-0123456789abcdef0", "fs-0fedcba9876543210"}


def test_a_log_that_cannot_be_shipped_fails_nothing(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()

    def refuse(group: str, stream: str, lines: object, role_name: str) -> None:
        raise RuntimeError("no logs today")

    bench.store.put_log_lines = refuse  # type: ignore[method-assign]  # a fake in its place
    bench.up(1)
    assert "were not shipped" in caplog.text


def test_a_fault_of_the_rehearsal_is_told_and_nothing_waits_for_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()

    def refuse(subnet_id: str, security_group_ids: object, address: str, role_name: str) -> str:
        raise RuntimeError("no interface")

    bench.store.attach_interface = refuse  # type: ignore[method-assign]  # a fake in its place
    assert failed(bench) == "Internal service error of the rehearsal: RuntimeError: no interface"


def test_a_machine_that_does_not_end_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.up(1)

    def stuck() -> None:
        raise MachineError("its processes did not end")

    bench.machine(WORKER_1).power_off = stuck  # type: ignore[method-assign]  # a fake in its place
    bench.service.replace_requested("ml", WORKER_1, "Action:Replace")
    bench.settle()
    assert bench.nodes("workers")[0]["InstanceStatus"]["Status"] == "Running" and "did not end" in caplog.text
