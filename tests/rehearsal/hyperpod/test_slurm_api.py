"""Slurm by the API: SlurmConfig, what the service configures itself, the hook that follows, accounting."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from tests.rehearsal.hyperpod.fakes import BUNDLE, CONTROLLER, WORKER_1, Bench, FakeMachine, group
from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.machines import Reach

EXTENDED = {"SourceS3Uri": BUNDLE, "OnInitComplete": "on_init_complete.sh"}
DNS = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
SECRET = "arn:aws:secretsmanager:us-west-2:000000000000:secret:slurm-AbCdEf"  # noqa: S105
DATABASE = {"Endpoint": "db.example.com", "SecretArn": SECRET}
STORAGE = [
    {"FsxLustreConfig": {"DnsName": DNS, "MountName": "abcd1234", "MountPath": "/shared"}},
    {"FsxOpenZfsConfig": {"DnsName": DNS}},
    {"EbsVolumeConfig": {"VolumeSizeInGB": 100}},
]


def part(name: str, count: int, kind: str, *partitions: str, **more: Any) -> dict[str, Any]:
    """A group with its part in Slurm."""
    config: dict[str, Any] = {"NodeType": kind} | ({"PartitionNames": list(partitions)} if partitions else {})
    return group(name, count) | {"LifeCycleConfig": EXTENDED, "SlurmConfig": config, **more}


def request(*groups: Mapping[str, Any], strategy: str = "Managed", **changes: Any) -> dict[str, Any]:
    """CreateCluster by the API; one controller and two workers unless groups are given."""
    chosen = groups or (part("head", 1, "Controller"), part("workers", 2, "Compute", "train"))
    return {
        "ClusterName": "ml",
        "InstanceGroups": list(chosen),
        "VpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]},
        "Orchestrator": {"Slurm": {"SlurmConfigStrategy": strategy}},
        **changes,
    }


def up(bench: Bench, *groups: Mapping[str, Any], **changes: Any) -> None:
    bench.service.create_cluster(request(*groups, **changes))
    bench.settle()
    assert bench.status() == "InService", bench.describe()


def refused(body: Mapping[str, Any]) -> str:
    bench = Bench()
    with pytest.raises(ServiceError) as caught:
        bench.service.create_cluster(body)
    assert not bench.machines.made
    return caught.value.message


@pytest.mark.behaviour("HP055")
@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        (
            [part("workers", 1, "Compute")],
            "Exactly one instance group must be of NodeType Controller; found none",
        ),
        ([part("a", 1, "Controller"), part("b", 1, "Controller")], "found a, b"),
        ([part("a", 1, "Controller", "train")], "only groups of NodeType Compute have them"),
        ([part("a", 1, "Controller"), group("b", 1)], "missing in b"),
        (
            [part("a", 1, "Controller"), part("b", 1, "Worker")],
            "enum value set: [Controller, Login, Compute]",
        ),
        ([part("a", 1, "Controller"), part("b", 1, "Compute", "x", "y")], "length less than or equal to 1"),
        ([part("a", 1, "Controller"), part("b", 1, "Compute", "ml.p5")], "regular expression pattern"),
    ],
)
def test_parts_in_slurm_that_are_refused(groups: list[dict[str, Any]], reason: str) -> None:
    assert reason in refused(request(*groups))


def test_a_group_without_slurm_config_or_script_is_refused() -> None:
    body = request(group("a", 1) | {"LifeCycleConfig": {}})
    del body["Orchestrator"]
    assert "has no SlurmConfig, so it needs LifeCycleConfig.OnCreate" in refused(body)


@pytest.mark.behaviour("HP056")
def test_the_service_configures_each_node_before_its_script_runs() -> None:
    bench = Bench()
    groups = (
        part("login-a", 1, "Login"),
        part("head", 1, "Controller", InstanceStorageConfigs=STORAGE),
        part("login-b", 1, "Login"),
        part("workers", 1, "Compute", "train"),
    )
    up(bench, *groups)
    assert bench.machines.order("boot")[0] == CONTROLLER
    for name in bench.machines.order("boot"):
        done = [
            what
            for what, machine in bench.machines.log
            if machine == name and what in ("host setup", "script")
        ]
        assert done == ["host setup", "script"]
    orders = bench.machine(CONTROLLER).orders
    assert orders["role"] == "controller" and orders["controllers"] == [CONTROLLER[3:].replace("-", ".")]
    assert orders["mounts"] == [
        {"type": "lustre", "source": f"{DNS}@tcp:/abcd1234", "path": "/shared"},
        {"type": "nfs", "source": f"{DNS}:/fsx", "path": "/home"},
    ]
    cluster_id = bench.describe()["ClusterArn"].rsplit("/", 1)[1]
    assert (orders["accounting"]["host"], orders["accounting"]["name"]) == (
        "localhost",
        f"slurm_acct_db_{cluster_id}",
    )
    roles = {machine.orders["role"] for machine in bench.machines.made}
    assert (
        roles == {"controller", "login", "compute"} and bench.machine(WORKER_1).orders["accounting"] is None
    )


@pytest.mark.behaviour("HP057")
def test_the_files_say_what_the_api_says() -> None:
    bench = Bench()
    groups = [part("head", 1, "Controller"), part("login", 1, "Login")]
    up(bench, *groups, part("workers", 1, "Compute", "train"), part("more", 1, "Compute"))
    parameters = json.loads(bench.machine(WORKER_1).files["/opt/ml/config/provisioning_parameters.json"])
    assert parameters["controller_group"] == "head" and parameters["login_group"] == "login"
    assert parameters["worker_groups"] == [
        {"instance_group_name": "workers", "partition_name": "train"},
        {"instance_group_name": "more", "partition_name": "dev"},
    ]
    agent = json.loads(bench.machine(CONTROLLER).files["/opt/ml/config/cluster_agent.json"])
    assert agent["Emulator"]["LoginGroups"] == ["login"]
    life_cycle = json.loads(bench.machine(WORKER_1).files["/opt/ml/config/life_cycle_config.json"])
    assert life_cycle == {"S3Uri": BUNDLE, "OnInitComplete": "on_init_complete.sh"}


@pytest.mark.behaviour("HP058")
def test_without_a_script_nothing_of_the_customers_runs() -> None:
    bench = Bench()
    bare = [spec | {"LifeCycleConfig": {}} for spec in request()["InstanceGroups"]]
    up(bench, *bare)
    assert len(bench.machines.order("host setup")) == 3 and not bench.machines.order("script")


@pytest.mark.behaviour("HP059")
def test_slurm_may_come_up_while_the_script_runs() -> None:
    bench = Bench(slurm_while_script_runs=True)
    reached: dict[str, threading.Event] = defaultdict(threading.Event)

    def script(machine: FakeMachine) -> tuple[int, str]:
        reached[machine.spec.name].set()
        return 0, ""

    def setup(machine: FakeMachine) -> tuple[int, str]:
        begun = reached[machine.spec.name].wait(timeout=10)  # the script does not wait for this
        return (0, "") if begun else (1, "the script did not begin meanwhile")

    bench.machines.script, bench.machines.setup = script, setup
    up(bench)


def test_software_that_cannot_be_configured_fails_the_node_with_its_reason() -> None:
    bench = Bench()
    bench.machines.setup = lambda machine: (1, "mount -t lustre: Connection timed out")
    bench.service.create_cluster(request())
    bench.settle()
    outcome = bench.service.wait("ml", 1.0)
    assert not outcome.ok
    assert outcome.message == f"{messages.SOFTWARE_FAILED} mount -t lustre: Connection timed out"


@pytest.mark.behaviour("HP060")
def test_an_external_database_needs_continuous_and_a_readable_secret() -> None:
    external = {"Slurm": {"SlurmConfigStrategy": "Managed", "AccountingDatabase": DATABASE}}
    assert "needs NodeProvisioningMode Continuous" in refused(request(Orchestrator=external))
    body = request(Orchestrator=external, NodeProvisioningMode="Continuous")
    for broken in ("no secret", "denied", "unreachable", None):
        bench = Bench()
        if broken != "no secret":
            bench.store.secrets[SECRET] = {"username": "acct", "password": "pw"}
        if broken == "unreachable":
            bench.store.ways["subnet-1"] = Reach(internet=False, services=frozenset({"s3"}))
        bench.store.locked = broken == "denied"
        bench.service.create_cluster(body)
        bench.settle()
        assert bench.service.wait("ml", 1.0).ok == (broken is None), broken
    assert [(d.endpoint, d.port, d.user) for d in bench.machines.databases] == [
        ("db.example.com", 3306, "acct")
    ]
    accounting = bench.machine(CONTROLLER).orders["accounting"]
    assert (accounting["host"], accounting["user"]) == ("db.example.com", "acct")
    with pytest.raises(ServiceError, match="cannot be taken back"):
        bench.service.update_cluster(
            {"ClusterName": "ml", "Orchestrator": {"Slurm": {"SlurmConfigStrategy": "Managed"}}}
        )


@pytest.mark.behaviour("HP061")
def test_partitions_changed_by_hand_stop_an_update_with_managed_only() -> None:
    for strategy in ("Managed", "Overwrite", "Merge"):
        bench = Bench()
        up(bench, strategy=strategy)
        bench.machine(CONTROLLER).files["/opt/slurm/etc/slurm.conf"] = (
            b"PartitionName=dev Nodes=ALL\nPartitionName=train Nodes=a\nPartitionName=mine Nodes=a\n"
        )
        change = {"ClusterName": "ml", "InstanceGroups": [part("workers", 3, "Compute", "train")]}
        if strategy == "Managed":
            with pytest.raises(ServiceError, match="Partitions mine of cluster ml were changed outside"):
                bench.service.update_cluster(change)
        else:
            bench.service.update_cluster(change)


def test_a_new_group_and_a_new_partition_reach_the_controller() -> None:
    bench = Bench()
    up(bench)
    changed = [part("workers", 2, "Compute", "other"), part("login", 1, "Login")]
    bench.service.update_cluster({"ClusterName": "ml", "InstanceGroups": changed})
    bench.settle()
    files = bench.machine(CONTROLLER).files
    parameters = json.loads(files["/opt/ml/config/provisioning_parameters.json"])
    assert parameters["worker_groups"] == [{"instance_group_name": "workers", "partition_name": "other"}]
    assert json.loads(files["/opt/ml/config/cluster_agent.json"])["Emulator"]["LoginGroups"] == ["login"]
    with pytest.raises(ServiceError, match=r"SlurmConfig.NodeType of existing instance group workers"):
        bench.service.update_cluster({"ClusterName": "ml", "InstanceGroups": [part("workers", 2, "Login")]})
