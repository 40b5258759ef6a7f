"""`api` mode on real machines: the emulated service configures them while the bundle runs, which then waits.

Homes on a file system of their own, accounting in a database outside, a task plugin and pam_slurm_adopt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.lifecycle.on_nodes import (
    ADDRESSES,
    FSX,
    HOME,
    WORKERS,
    Cluster,
    cluster_of,
    idle,
    jobs,
    out,
    reboot_all,
    wait,
)
from unbroken.config import ClusterConfig
from unbroken.rehearsal.hyperpod import host_setup
from unbroken.rehearsal.hyperpod.machines import Database
from unbroken.rehearsal.nodes.machine import NamespaceMachine

pytestmark = pytest.mark.nodes

CLUSTER = {
    "name": "ml-cluster",
    "home": {},
    "slurm": {"mode": "api", "auto_resume": False, "task_plugin": "task/affinity", "pam_slurm_adopt": True},
    "worker_groups": WORKERS,
}
LOG = "/var/log/provision/provisioning.log"
GROUPS = ("controller-machine", "worker-group-1")
DATABASE = Database("accounting.example.com", 3307, "acct", "it's-a-secret")
SSH = ["runuser", "-u", "ubuntu", "--", "ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
       "-o", "UserKnownHostsFile=/dev/null", "ip-10-0-128-11"]  # fmt: skip


def orders(role: str) -> bytes:
    """What the service tells a node."""
    mounts = [
        {"type": "lustre", "source": f"{FSX}@tcp:/abcd", "path": "/fsx"},
        {"type": "nfs", "source": f"{HOME}:/fsx", "path": "/home"},
    ]
    accounting = {
        "host": DATABASE.endpoint, "port": DATABASE.port, "user": DATABASE.user,
        "password": DATABASE.password, "name": "accounts",
    }  # fmt: skip
    controllers = [ADDRESSES["controller-machine"]]
    told = {"role": role, "controllers": controllers, "mounts": mounts, "accounting": accounting}
    return json.dumps(told).encode()


def configure(machine: NamespaceMachine, role: str) -> None:
    machine.put(host_setup.ORDERS, orders(role), 0o600)
    done = machine.run(host_setup.COMMAND, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    work = tmp_path_factory.mktemp("on-nodes-api")
    with cluster_of(ClusterConfig.model_validate(CLUSTER), work, GROUPS) as made:
        made.machines.attach_database(DATABASE, made.controller.spec)
        yield made


def steps(lines: list[dict[str, Any]]) -> dict[str, str]:
    return {line["step"]: line["result"] for line in lines}


def test_nodes_are_configured_while_the_script_runs(cluster: Cluster) -> None:
    with ThreadPoolExecutor() as pool:
        for machine, role in ((cluster.controller, "controller"), (cluster.worker, "compute")):
            script = pool.submit(cluster.provision, machine, "on_init_complete.sh")
            wait("the script to wait", lambda m=machine: "25-lustre-client" in out(m, "cat", LOG))  # type: ignore[misc]
            configure(machine, role)
            results = steps(script.result())
            assert results["30-storage"] == "applied", "it had to wait for HyperPod"
            assert results["50-user"] == "applied"
    wait("an idle node", lambda: idle(cluster))
    assert not cluster.controller.run(["test", "-e", host_setup.ORDERS], timeout=10).returncode == 0


def test_a_job_runs_and_the_database_outside_knows_it(cluster: Cluster) -> None:
    ran = cluster.worker.run(
        ["runuser", "-u", "ubuntu", "--", "srun", "sh", "-c", "hostname; pwd"], timeout=60
    )
    assert ran.stdout.split()[0] == "ip-10-0-128-11", ran.stderr
    wait("the job in sacct", lambda: jobs(cluster.worker) == ["ubuntu", "COMPLETED"])
    assert "StorageHost=accounting.example.com" in out(
        cluster.controller, "cat", "/opt/slurm/etc/slurmdbd.conf"
    )
    assert cluster.controller.run(["systemctl", "is-active", "mariadb"], timeout=10).returncode != 0


def test_homes_are_on_their_own_file_system(cluster: Cluster) -> None:
    assert out(cluster.worker, "getent", "passwd", "ubuntu").split(":")[5] == "/home/ubuntu"
    assert f"{HOME}:/fsx" in out(cluster.worker, "findmnt", "--noheadings", "--output=SOURCE", "/home")
    cluster.controller.run(["runuser", "-u", "ubuntu", "--", "touch", "/home/ubuntu/mine"], timeout=10)
    assert "mine" in out(cluster.worker, "ls", "/home/ubuntu")


def test_the_task_plugin_outlives_the_agents_next_slurm_conf(cluster: Cluster) -> None:
    def plugin() -> str:
        shown = out(cluster.controller, "scontrol", "show", "config")
        return (
            next(line for line in shown.splitlines() if line.startswith("TaskPlugin ")).split("=")[1].strip()
        )

    assert plugin() == "task/affinity"
    conf = "/opt/slurm/etc/slurm.conf"
    cluster.controller.run(
        ["touch", "/opt/ml/config/resource_config.json"], timeout=10
    )  # the agent writes anew
    log = "/var/log/aws/clusters/sagemaker-cluster-agent.log"
    wait("the agent's rewrite", lambda: out(cluster.controller, "cat", log).count("wrote slurm.conf") >= 2)
    wait("our settings", lambda: "\nTaskPlugin=task/affinity\n" in out(cluster.controller, "cat", conf))
    wait("slurmctld to have them", lambda: plugin() == "task/affinity")
    bound = cluster.worker.run(
        ["runuser", "-u", "ubuntu", "--", "srun", "--immediate=30", "--cpu-bind=verbose", "true"], timeout=60
    )
    assert "cpu-bind" in bound.stderr.lower(), bound.stderr


def test_people_log_in_only_where_a_job_of_theirs_runs(cluster: Cluster) -> None:
    cluster.worker.run(["systemctl", "start", "ssh"], timeout=30)
    refused = cluster.controller.run([*SSH, "true"], timeout=30)
    assert refused.returncode != 0 and "Access denied by pam_slurm_adopt" in refused.stderr, refused.stderr
    held = as_user(cluster, "srun --immediate=30 sleep 60")
    try:
        wait("the job to run", lambda: "R" in out(cluster.controller, "squeue", "-h", "-o", "%t").split())
        allowed = cluster.controller.run([*SSH, "cat", "/proc/self/cgroup"], timeout=30)
        assert allowed.returncode == 0 and "slurm" in allowed.stdout, allowed.stderr
    finally:
        cluster.controller.run(["scancel", "-u", "ubuntu"], timeout=10)
        held.shutdown()
    wait("the end of the job", lambda: idle(cluster))


def as_user(cluster: Cluster, command: str) -> ThreadPoolExecutor:
    """A command of the user's on the controller, in the background."""
    pool = ThreadPoolExecutor(1)
    pool.submit(cluster.controller.run, ["runuser", "-u", "ubuntu", "--", "sh", "-c", command], timeout=90)
    return pool


def test_everything_comes_back_at_a_reboot_without_the_bundle(cluster: Cluster) -> None:
    reboot_all(cluster)
    wait("an idle node after the reboot", lambda: idle(cluster), 120)
    assert f"{HOME}:/fsx" in out(cluster.worker, "findmnt", "--noheadings", "--output=SOURCE", "/home")
