"""Real machines for tests of the bundle: one node of each role, in namespaces of the test's own process.

What stands in: file systems are the rehearsal's, and S3 is a folder behind a program called aws.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from unbroken import render
from unbroken.config import ClusterConfig
from unbroken.ops.rehearse import capability
from unbroken.rehearsal.hyperpod.machines import MachineSpec
from unbroken.rehearsal.hyperpod.transfer import ARCHIVE, UNPACK, packed
from unbroken.rehearsal.nodes import rootfs
from unbroken.rehearsal.nodes.machine import NamespaceMachine
from unbroken.rehearsal.nodes.machines import NamespaceMachines
from unbroken.render.bundle import SUMS, content_hash, sums_text

CLONE_NEWNS = 0x20000
FSX = "fs-0abc.fsx.us-west-2.amazonaws.com"
ADDRESSES = {
    "controller-machine": "10.0.128.10",
    "worker-group-1": "10.0.128.11",
    "login-group": "10.0.128.12",
}
AWS = b'#!/bin/sh\nfor target; do :; done\nexec cp -R /var/tmp/s3/. "$target"\n'
WORKERS = [{"name": "worker-group-1", "instance_type": "ml.p4de.24xlarge", "num_instances": 1}]
HOME = "fs-0def.fsx.us-west-2.amazonaws.com"


@dataclass
class Cluster:
    """The machines, and how to run the bundle on one of them."""

    machines: NamespaceMachines
    files: dict[str, bytes]
    training: dict[str, bytes]
    parameters: bytes
    nodes: dict[str, NamespaceMachine]
    """By group."""

    @property
    def controller(self) -> NamespaceMachine:
        return self.nodes["controller-machine"]

    @property
    def worker(self) -> NamespaceMachine:
        return self.nodes["worker-group-1"]

    @property
    def login(self) -> NamespaceMachine:
        return self.nodes["login-group"]

    def provision(self, machine: NamespaceMachine, script: str = "on_create.sh") -> list[dict[str, Any]]:
        """Run a script of the bundle as HyperPod does; return the lines of the log."""
        folder = "/tmp/sagemaker-bucket/bundle"
        put_all(machine, {f"{folder}/{name}": data for name, data in self.files.items()})
        done = machine.run(["bash", script], timeout=120, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return lines(done)

    def upload(self, training: dict[str, bytes]) -> str:
        """Put training code where S3 stands, and its place into the bundle's files; return its hash."""
        sums = sums_text({name: data for name, data in training.items() if name != SUMS})
        put_all(self.controller, {f"/var/tmp/s3/{name}": data for name, data in training.items()})
        self.controller.put(f"/var/tmp/s3/{SUMS}", sums.encode())
        deployed = json.loads(self.files["deployed.json"])
        deployed["training_uri"] = f"s3://sagemaker-bucket/training/{content_hash(sums)}/"
        self.files["deployed.json"] = json.dumps(deployed).encode()
        return content_hash(sums)


def put_all(machine: NamespaceMachine, files: dict[str, bytes]) -> None:
    machine.put(ARCHIVE, packed(files, time.time()))
    assert machine.run(UNPACK, timeout=30).returncode == 0


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


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


def resource_config(names: Sequence[str] = tuple(ADDRESSES)) -> bytes:
    groups = [
        {
            "Name": group,
            "InstanceType": spec(group).instance_type,
            "Instances": [
                {
                    "InstanceName": f"{group}-1",
                    "InstanceId": f"i-{group}",
                    "CustomerIpAddress": ADDRESSES[group],
                }
            ],
        }
        for group in names
    ]
    head = {"ClusterName": "ml-cluster", "ClusterArn": "arn:aws:sagemaker:us-west-2:1:cluster/abc123def456"}
    return json.dumps({"ClusterConfig": head, "InstanceGroups": groups}, indent=1).encode()


def files_of(bundle: render.Bundle) -> dict[str, bytes]:
    return {
        p.relative_to(bundle.path).as_posix(): p.read_bytes() for p in bundle.path.rglob("*") if p.is_file()
    }


def boot(
    machines: NamespaceMachines, group: str, parameters: bytes, names: Sequence[str] = tuple(ADDRESSES)
) -> NamespaceMachine:
    """A machine as HyperPod hands it to the bundle."""
    machine = machines.create(spec(group))
    machine.put("/etc/munge/munge.key", b"k" * 128, 0o400)
    machine.boot(timeout=60)
    machine.put("/opt/ml/config/provisioning_parameters.json", parameters)
    machine.put("/opt/ml/config/resource_config.json", resource_config(names))
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


def reboot_all(cluster: Cluster) -> None:
    """Reboot worker and controller; without the service here, the agent must not take that for a loss."""
    cluster.controller.run(["systemctl", "stop", "sagemaker-cluster-agent"], timeout=30)
    for machine in (cluster.worker, cluster.controller):
        machine.reboot()


@contextmanager
def cluster_of(
    config: ClusterConfig, work: Path, groups: Sequence[str] = tuple(ADDRESSES)
) -> Iterator[Cluster]:
    """Machines for these groups, up, before anybody configured them; skips where there can be none."""
    missing = capability.probe().missing
    if missing:
        pytest.skip(f"no nodes here: {'; '.join(missing)}")
    assert ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    name = f"lifecycle-{os.getpid()}-{config.slurm.mode}"
    machines = NamespaceMachines(rootfs.layers(rootfs.ensure(print)), _folder(work, "machines"), name)
    machines.attach_file_system("fs-0abc", FSX, "abcd", 64)
    machines.attach_home("fs-0def", HOME, 64)
    try:
        yield _cluster(machines, config, work, groups)
    finally:
        machines.close()


def _folder(work: Path, name: str) -> Path:
    (work / name).mkdir()
    return work / name


def _cluster(
    machines: NamespaceMachines, config: ClusterConfig, work: Path, groups: Sequence[str]
) -> Cluster:
    bundle = render.bundle(config, work / "bundle")
    training = render.training_bundle(config, work / "training")
    deployed = render.deployed(
        config,
        fsx_dns_name=FSX,
        fsx_mount_name="abcd",
        lifecycle_bucket="sagemaker-bucket",
        data_bucket="data",
        training_uri=f"s3://sagemaker-bucket/training/{training.content_hash}/",
        home_dns_name=HOME if config.home else None,
    )
    parameters = render.provisioning_parameters(config, FSX, "abcd").encode()
    nodes = {group: boot(machines, group, parameters, groups) for group in groups}
    controller = nodes["controller-machine"]
    controller.run(["rm", "-f", "/usr/local/bin/aws"], timeout=10)
    controller.put("/usr/local/bin/aws", AWS, 0o755)
    for name, data in files_of(training).items():
        controller.put(f"/var/tmp/s3/{name}", data)
    files = {**files_of(bundle), "deployed.json": deployed.encode()}
    return Cluster(machines, files, files_of(training), parameters, nodes)
