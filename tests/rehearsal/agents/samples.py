"""The service's files of a small cluster, for the tests of what the agent makes of them."""

from __future__ import annotations

from typing import Any


def instance(number: int, serial: int) -> dict[str, Any]:
    return {
        "InstanceName": f"group-{number}",
        "InstanceId": f"i-{serial:017x}",
        "AgentIpAddress": f"172.16.0.{number}",
        "CustomerIpAddress": f"10.1.2.{number}",
        "InstanceLabel": None,
    }


def group(name: str, kind: str, *numbers: int) -> dict[str, Any]:
    return {"Name": name, "InstanceType": kind, "Instances": [instance(n, n) for n in numbers] or None}


RESOURCES: dict[str, Any] = {
    "ClusterConfig": {
        "ClusterName": "Bench",
        "ClusterType": "Slurm",
        "SlurmConfig": {"PrimaryControllerIp": ""},
    },
    "InstanceGroups": [
        group("controller-machine", "ml.m5.12xlarge", 10),
        group("login-group", "ml.m5.4xlarge", 20),
        group("worker-group-1", "ml.p4de.24xlarge", 3, 104),
        group("worker-group-2", "ml.g5.2xlarge", 7),
        group("empty", "ml.g5.2xlarge"),
    ],
}
PROVISIONING: dict[str, Any] = {
    "version": "1.0.0",
    "workload_manager": "slurm",
    "controller_group": "controller-machine",
    "login_group": "login-group",
    "worker_groups": [
        {"instance_group_name": "worker-group-1", "partition_name": "train"},
        {"instance_group_name": "worker-group-2", "partition_name": "dev"},
        {"instance_group_name": "empty", "partition_name": "later"},
    ],
}
AGENT: dict[str, Any] = {
    "NodeRecovery": "Automatic",
    "Emulator": {
        "Gres": True,
        "InstanceTypes": {
            "ml.p4de.24xlarge": {"Cpus": 96, "MemoryMib": 1179648, "Gpus": 8},
            "ml.g5.2xlarge": {"Cpus": 8, "MemoryMib": 32768, "Gpus": 1},
        },
    },
}
