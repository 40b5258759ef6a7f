"""What the service does on a node by itself where groups have a SlurmConfig: mounts, accounting, Slurm.

The node's side is ``image/opt/rehearsal/lib/host_setup`` and stands for HyperPod's host agent.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from unbroken.rehearsal.hyperpod.lifecycle import role_name
from unbroken.rehearsal.hyperpod.machines import AccessDenied, Database, Machine, MachineError, NotFound
from unbroken.rehearsal.hyperpod.states import Cluster, Node
from unbroken.rehearsal.hyperpod.world import World

ORDERS = "/opt/rehearsal/host_setup.json"
COMMAND = ("python3", "-Es", "/opt/rehearsal/lib/start_host_setup.py")
"""The command that carries the orders out; machines that run nothing know it by this value."""
LUSTRE_PATH, HOME_PATH = "/fsx", "/home"
"""Where file systems are mounted that say no MountPath; this project's reading."""
MYSQL_PORT = 3306


class SetupFailure(Exception):
    """A node could not be configured; the message says why."""


def run(world: World, cluster: Cluster, node: Node) -> None:
    """Configure the node; raises SetupFailure or MachineError."""
    machine = node.machine
    if machine is None:
        raise MachineError(f"{node.name} has no machine")
    orders = {
        "role": _role(cluster, node),
        "controllers": [controller.address for controller in cluster.controllers()],
        "mounts": list(_mounts(cluster.groups[node.group].spec)),
        "accounting": _accounting(world, cluster, node, machine) if cluster.is_controller(node) else None,
    }
    machine.put(ORDERS, (json.dumps(orders, indent=1) + "\n").encode(), 0o600)
    done = machine.run(COMMAND, timeout=world.settings.lifecycle_timeout_seconds)
    if done.returncode != 0:
        raise SetupFailure((done.stderr or done.stdout).strip() or f"exit code {done.returncode}")


def _role(cluster: Cluster, node: Node) -> str:
    if cluster.is_controller(node):
        return "controller"
    return "login" if node.group in cluster.slurm.login_groups else "compute"


def _mounts(spec: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for item in spec.get("InstanceStorageConfigs", []):
        if "FsxLustreConfig" in item:
            config = item["FsxLustreConfig"]
            source = f"{config['DnsName']}@tcp:/{config['MountName']}"
            yield {"type": "lustre", "source": source, "path": config.get("MountPath", LUSTRE_PATH)}
        if "FsxOpenZfsConfig" in item:
            config = item["FsxOpenZfsConfig"]
            source = f"{config['DnsName']}:/fsx"
            yield {"type": "nfs", "source": source, "path": config.get("MountPath", HOME_PATH)}


def _accounting(world: World, cluster: Cluster, node: Node, machine: Machine) -> dict[str, Any]:
    """Where slurmdbd keeps its data: on the controller, or in the customer's database."""
    given = cluster.request.get("Orchestrator", {}).get("Slurm", {}).get("AccountingDatabase")
    name = f"slurm_acct_db_{cluster.cluster_id}"
    if given is None:
        return {"host": "localhost", "port": MYSQL_PORT, "user": "slurm", "password": secrets.token_hex(16),
                "name": name}  # fmt: skip
    database = _external(world, cluster, node, given)
    world.machines.attach_database(database, machine.spec)
    return {
        "host": database.endpoint,
        "port": database.port,
        "user": database.user,
        "password": database.password,
        "name": given.get("Name", name),
    }


def _external(world: World, cluster: Cluster, node: Node, given: Mapping[str, Any]) -> Database:
    """The customer's database with the account its secret holds."""
    if "secretsmanager" not in world.aws.reach(cluster.network_of(node).subnet.subnet_id):
        raise SetupFailure(f"Secrets Manager cannot be reached for {given['SecretArn']}")
    role = role_name(cluster.groups[node.group].spec["ExecutionRole"])
    try:
        secret = world.aws.secret(given["SecretArn"], role)
        user, password = secret["username"], secret["password"]
    except (AccessDenied, NotFound) as error:
        raise SetupFailure(str(error)) from error
    except KeyError as error:
        raise SetupFailure(f"the secret {given['SecretArn']} has no {error}") from error
    return Database(given["Endpoint"], given.get("Port", MYSQL_PORT), user, password)
