"""The real bundle on real machines: systemd, Slurm, MariaDB and munge, one node of each role.

What stands in: the file system is the rehearsal's, and S3 is a folder behind a program called aws.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from unbroken import render
from unbroken.config import ClusterConfig
from unbroken.ops.rehearse import capability
from unbroken.rehearsal.hyperpod.machines import MachineSpec
from unbroken.rehearsal.nodes import rootfs
from unbroken.rehearsal.nodes.machine import NamespaceMachine
from unbroken.rehearsal.nodes.machines import NamespaceMachines

pytestmark = pytest.mark.nodes

CLONE_NEWNS = 0x20000
FSX = "fs-0abc.fsx.us-west-2.amazonaws.com"
ADDRESSES = {
    "controller-machine": "10.0.128.10",
    "worker-group-1": "10.0.128.11",
    "login-group": "10.0.128.12",
}
AWS = b'#!/bin/sh\nfor target; do :; done\nexec cp -R /var/tmp/s3/. "$target"\n'
CLUSTER = {
    "name": "ml-cluster",
    "login_groups": [{}],
    "worker_groups": [{"name": "worker-group-1", "instance_type": "ml.p4de.24xlarge", "num_instances": 1}],
}


@dataclass
class Cluster:
    """The machines, and how to run the bundle on one of them."""

    machines: NamespaceMachines
    files: dict[str, bytes]
    training: dict[str, bytes]
    parameters: bytes
    controller: NamespaceMachine
    worker: NamespaceMachine
    login: NamespaceMachine

    def provision(self, machine: NamespaceMachine) -> list[dict[str, Any]]:
        """Run on_create.sh as HyperPod does; return the lines of the log."""
        for name, data in self.files.items():
            machine.put(f"/tmp/sagemaker-bucket/bundle/{name}", data)
        done = machine.run(["bash", "on_create.sh"], timeout=120, cwd="/tmp/sagemaker-bucket/bundle")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == 0, done.stdout + done.stderr
        return lines


def spec(group: str) -> MachineSpec:
    address = ADDRESSES[group]
    worker = group == "worker-group-1"
    return MachineSpec(
        name="ip-" + address.replace(".", "-"),
        address=address,
        prefix_len=17,
        gateway="10.0.128.1",
        instance_type="ml.p4de.24xlarge" if worker else "ml.m5.12xlarge",
        instance_id="i-0123456789abcdef0",
        role_name="role",
        gpus=8 if worker else 0,
        nvme_gib=100 if worker else 0,
        ebs_gib=0,
    )


def resource_config() -> bytes:
    groups = [
        {
            "Name": group,
            "InstanceType": spec(group).instance_type,
            "Instances": [{"InstanceName": f"{group}-1", "InstanceId": "i-1", "CustomerIpAddress": address}],
        }
        for group, address in ADDRESSES.items()
    ]
    head = {"ClusterName": "ml-cluster", "ClusterArn": "arn:aws:sagemaker:us-west-2:1:cluster/abc123def456"}
    return json.dumps({"ClusterConfig": head, "InstanceGroups": groups}, indent=1).encode()


def files_of(bundle: render.Bundle) -> dict[str, bytes]:
    return {
        p.relative_to(bundle.path).as_posix(): p.read_bytes() for p in bundle.path.rglob("*") if p.is_file()
    }


def boot(machines: NamespaceMachines, group: str, parameters: bytes) -> NamespaceMachine:
    """A machine as HyperPod hands it to the bundle."""
    machine = machines.create(spec(group))
    machine.put("/etc/munge/munge.key", b"k" * 128, 0o400)
    machine.boot(timeout=60)
    machine.put("/opt/ml/config/provisioning_parameters.json", parameters)
    machine.put("/opt/ml/config/resource_config.json", resource_config())
    return machine


def wait(what: str, ready: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.2)


def out(machine: NamespaceMachine, *argv: str) -> str:
    done = machine.run(list(argv), timeout=60)
    return done.stdout if done.returncode == 0 else ""


def jobs(machine: NamespaceMachine) -> list[str]:
    listed = ("sacct", "--allusers", "--noheader", "--allocations", "--format=User,State")
    return out(machine, *listed).split()


def idle(cluster: Cluster) -> bool:
    shown = out(cluster.controller, "sinfo", "--noheader", "--nodes=ip-10-0-128-11", "--format=%T")
    return shown.split() == ["idle"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    missing = capability.probe().missing
    if missing:
        pytest.skip(f"no nodes here: {'; '.join(missing)}")
    assert ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    config, work = ClusterConfig.model_validate(CLUSTER), tmp_path_factory.mktemp("on-nodes")
    machines = NamespaceMachines(rootfs.layers(rootfs.ensure(print)), _folder(work, "machines"), _name())
    machines.attach_file_system("fs-0abc", FSX, "abcd", 64)
    try:
        yield _cluster(machines, config, work)
    finally:
        machines.close()


def _name() -> str:
    return f"lifecycle-{os.getpid()}"


def _folder(work: Path, name: str) -> Path:
    (work / name).mkdir()
    return work / name


def _cluster(machines: NamespaceMachines, config: ClusterConfig, work: Path) -> Cluster:
    bundle = render.bundle(config, work / "bundle")
    training = render.training_bundle(config, work / "training")
    deployed = render.deployed(
        config,
        fsx_dns_name=FSX,
        fsx_mount_name="abcd",
        lifecycle_bucket="sagemaker-bucket",
        data_bucket="data",
        training_uri=f"s3://sagemaker-bucket/training/{training.content_hash}/",
    )
    parameters = render.provisioning_parameters(config, FSX, "abcd").encode()
    controller, worker, login = (boot(machines, group, parameters) for group in ADDRESSES)
    controller.run(["rm", "-f", "/usr/local/bin/aws"], timeout=10)
    controller.put("/usr/local/bin/aws", AWS, 0o755)
    for name, data in files_of(training).items():
        controller.put(f"/var/tmp/s3/{name}", data)
    files = {**files_of(bundle), "deployed.json": deployed.encode()}
    return Cluster(machines, files, files_of(training), parameters, controller, worker, login)


def test_nodes_come_up_and_run_a_job_that_accounting_sees_from_everywhere(cluster: Cluster) -> None:
    for machine in (cluster.controller, cluster.worker, cluster.login):
        lines = cluster.provision(machine)
        assert {line["result"] for line in lines} <= {"controller", "compute", "login", "applied", "skipped"}
    wait("an idle node", lambda: idle(cluster))
    ran = cluster.worker.run(["runuser", "-u", "ubuntu", "--", "srun", "hostname"], timeout=60)
    assert ran.stdout.split() == ["ip-10-0-128-11"], ran.stderr
    wait("the job in sacct on the worker", lambda: jobs(cluster.worker) == ["ubuntu", "COMPLETED"])
    assert jobs(cluster.controller) == ["ubuntu", "COMPLETED"]


def test_running_the_bundle_again_skips_every_step(cluster: Cluster) -> None:
    for machine in (cluster.controller, cluster.worker, cluster.login):
        assert {line["result"] for line in cluster.provision(machine)[1:]} == {"skipped"}


def test_jobs_are_submitted_on_a_login_node_and_never_run_there(cluster: Cluster) -> None:
    def submitted(*options: str) -> subprocess.CompletedProcess[str]:
        return cluster.login.run(["runuser", "-u", "ubuntu", "--", "srun", *options, "hostname"], timeout=60)

    assert submitted("--immediate=20").stdout.split() == ["ip-10-0-128-11"]
    assert "dev" in out(cluster.login, "sinfo", "--noheader", "--nodes=ip-10-0-128-12", "--format=%R").split()
    refused = submitted("--nodes=2", "--immediate=2")
    assert refused.returncode != 0 and "reserved" in refused.stderr, refused.stdout


def test_the_password_is_in_two_files_of_the_controller_and_no_process_shows_it(cluster: Cluster) -> None:
    secret = cluster.controller.get("/etc/unbroken/slurmdbd.password").decode().strip()
    places = ["/etc", "/opt", "/var/log", "/fsx", "/tmp", "/root", "/run"]
    for machine, holders in (
        (cluster.controller, {"/etc/unbroken/slurmdbd.password", "/opt/slurm/etc/slurmdbd.conf"}),
        (cluster.worker, set()),
        (cluster.login, set()),
    ):
        found = machine.run(["grep", "--recursive", "--files-with-matches", secret, *places], timeout=60)
        assert set(found.stdout.split()) == holders
        assert secret not in out(machine, "journalctl", "--no-pager")
        assert secret not in out(machine, "ps", "-ewwo", "args")
    modes = out(cluster.controller, "stat", "--format=%U %a", "/opt/slurm/etc/slurmdbd.conf")
    assert modes.split() == ["slurm", "600"]


def test_everything_comes_back_at_a_reboot_without_the_bundle(cluster: Cluster) -> None:
    for machine in (cluster.worker, cluster.controller):
        machine.reboot()
    wait("an idle node after the reboot", lambda: idle(cluster), 120)
    assert FSX in out(cluster.worker, "findmnt", "--noheadings", "--output=SOURCE", "/fsx")
    assert out(cluster.worker, "stat", "--format=%a", "/opt/dlami/nvme").strip() == "1777"
    wait("the first job in sacct again", lambda: jobs(cluster.worker)[:2] == ["ubuntu", "COMPLETED"])
    assert "login-ip-10-0-128-12" in out(cluster.controller, "scontrol", "show", "reservation")


def test_a_replaced_worker_joins_under_its_old_name(cluster: Cluster) -> None:
    key = cluster.worker.get("/fsx/ubuntu/.ssh/id_ed25519")
    cluster.worker.discard()
    cluster.worker = boot(cluster.machines, "worker-group-1", cluster.parameters)
    results = {line["step"]: line["result"] for line in cluster.provision(cluster.worker)}
    assert results["85-slurmd"] == "applied"
    assert cluster.worker.get("/fsx/ubuntu/.ssh/id_ed25519") == key
    wait("the replaced node to be idle", lambda: idle(cluster), 120)


def test_starting_slurmd_on_the_controller_is_impossible(cluster: Cluster) -> None:
    assert cluster.controller.run(["systemctl", "start", "slurmd"], timeout=30).returncode != 0
    assert b"ClusterName" in cluster.controller.get("/opt/slurm/etc/slurm.conf")
