"""The files the service keeps under /opt/ml/config on a Slurm node.

Shapes: HyperPod field notes in awslabs/awsome-distributed-ai (hyperpod-mental-model.md, 2026). One key a
line, since scripts in use read them with sed. /opt/ml/metadata/resource-metadata.json is absent, as it was on
the nodes that were looked at.
"""

from __future__ import annotations

import json
from typing import Any

from unbroken.catalog import instance_types
from unbroken.rehearsal.hyperpod.lifecycle import PARAMETERS_FILE, LifecycleSource
from unbroken.rehearsal.hyperpod.settings import Settings
from unbroken.rehearsal.hyperpod.states import Cluster, Node, NodeStatus

FOLDER = "/opt/ml/config"
RESOURCE_CONFIG = f"{FOLDER}/resource_config.json"


def resource_config(cluster: Cluster) -> bytes:
    """resource_config.json: all groups with their instances; call it with the lock held."""
    addresses = [node.address for node in cluster.controllers()]
    return _json(
        {
            "ClusterConfig": {
                "ClusterName": cluster.name,
                "ClusterArn": cluster.arn,
                "ClusterType": "Slurm",
                "SlurmConfig": {
                    "PrimaryControllerIp": addresses[0] if addresses else "",
                    "SecondaryControllerIps": addresses[1:],
                },
            },
            "InstanceGroups": [_group(cluster, name) for name in cluster.groups],
        }
    )


def node_files(
    cluster: Cluster,
    node: Node,
    source: LifecycleSource | None,
    bundle: dict[str, bytes],
    settings: Settings,
) -> dict[str, bytes]:
    """Everything a node has there before its lifecycle script runs, but resource_config.json."""
    config_uri = f"s3://hyperpod-service-{settings.region}/{cluster.cluster_id}/resource_config.json"
    files = {f"{FOLDER}/host_agent.json": _json({"ResourceConfigS3Uri": config_uri})}
    if source is not None:
        script = {"S3Uri": source.s3_uri, source.hook: source.script}
        files[f"{FOLDER}/life_cycle_config.json"] = _json(script)
    if cluster.slurm.by_api:
        files[f"{FOLDER}/{PARAMETERS_FILE}"] = _json(_parameters(cluster))
    elif PARAMETERS_FILE in bundle:
        files[f"{FOLDER}/{PARAMETERS_FILE}"] = bundle[PARAMETERS_FILE]
    if cluster.is_controller(node):
        files[f"{FOLDER}/cluster_agent.json"] = _json(_agent(cluster, config_uri, settings))
    return files


def _parameters(cluster: Cluster) -> dict[str, Any]:
    """provisioning_parameters.json as the service makes it of SlurmConfig; it has one login group."""
    slurm = cluster.slurm
    found: dict[str, Any] = {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": slurm.controller_group,
    }
    if slurm.login_groups:
        found["login_group"] = slurm.login_groups[0]
    workers = [name for name in cluster.groups if name not in slurm.heads]
    found["worker_groups"] = [
        {"instance_group_name": name, "partition_name": slurm.partitions.get(name, "dev")} for name in workers
    ]
    return found


def _agent(cluster: Cluster, config_uri: str, settings: Settings) -> dict[str, Any]:
    """cluster_agent.json. NodeRecovery and Emulator are the rehearsal's own; its agent must know them."""
    return {
        "ResourceConfigS3Uri": config_uri,
        "SlurmConfiguration": {
            "EnableTopology": False,
            "TopologyLabel": None,
            "UseInstanceNames": False,
            "CreateMagneticReservations": False,
        },
        "NodeRecovery": cluster.request.get("NodeRecovery", "Automatic"),
        "Emulator": {
            "Gres": settings.gres,
            "LoginNodesInSlurm": settings.login_nodes_in_slurm,
            "LoginGroups": list(cluster.slurm.login_groups),
            "KeepPartitions": _strategy(cluster) == "Merge",
            "InstanceTypes": _shapes(cluster),
        },
    }


def _strategy(cluster: Cluster) -> str:
    return str(cluster.request.get("Orchestrator", {}).get("Slurm", {}).get("SlurmConfigStrategy", ""))


def _shapes(cluster: Cluster) -> dict[str, Any]:
    """What Slurm is told about each instance type, from the catalogue; the least where it does not know."""
    shapes = {}
    for group in cluster.groups.values():
        hardware = instance_types.get(group.spec["InstanceType"])
        threads = group.spec.get("ThreadsPerCore", hardware.max_threads_per_core)
        shapes[hardware.name] = {
            "Cpus": (hardware.cores or 1) * (threads or 1),
            "MemoryMib": hardware.memory_mib or 1024,
            "Gpus": hardware.gpus or 0,
        }
    return shapes


def _group(cluster: Cluster, name: str) -> dict[str, Any]:
    members = [n for n in cluster.members(name) if n.status is not NodeStatus.SHUTTING_DOWN]
    return {
        "Name": name,
        "InstanceType": cluster.groups[name].spec["InstanceType"],
        "Instances": [_instance(node) for node in members] or None,
    }


def _instance(node: Node) -> dict[str, Any]:
    return {
        "InstanceName": node.instance_name,
        "InstanceId": node.instance_id,
        "AgentIpAddress": agent_address(node.address),
        "CustomerIpAddress": node.address,
        "InstanceLabel": None,
    }


def agent_address(address: str) -> str:
    """A made-up address on the agents' own network, 172.16.0.0/16; no such interface exists here."""
    third, fourth = address.split(".")[2:]
    return f"172.16.{third}.{fourth}"


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()
