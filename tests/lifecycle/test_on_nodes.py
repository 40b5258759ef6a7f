"""The real bundle on real machines: systemd, Slurm, MariaDB and munge, one node of each role."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.lifecycle.on_nodes import (
    FSX,
    WORKERS,
    Cluster,
    boot,
    cluster_of,
    idle,
    jobs,
    out,
    reboot_all,
    wait,
)
from unbroken.config import ClusterConfig

pytestmark = pytest.mark.nodes

CLUSTER = {"name": "ml-cluster", "login_groups": [{}], "worker_groups": WORKERS}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(ClusterConfig.model_validate(CLUSTER), tmp_path_factory.mktemp("on-nodes")) as made:
        yield made


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


def test_a_changed_job_reaches_a_controller_that_runs(cluster: Cluster) -> None:
    unit, current = "unbroken-environment.service", "/fsx/unbroken/current"
    before = out(cluster.controller, "readlink", current, "/opt/unbroken/current").split()
    changed = cluster.upload({**cluster.training, "job.yaml": b"num_steps: 7\n"})
    results = {line["step"]: line["result"] for line in cluster.provision(cluster.controller, "job.sh")}
    assert results == {"10-role": "controller", "90-training": "applied", "95-environment": "applied"}
    after = out(cluster.controller, "readlink", current, "/opt/unbroken/current").split()
    assert (after[0], after[1]) == (changed, before[1]) and before[0] != changed
    started = out(cluster.controller, "systemctl", "show", "--property=ExecStart", unit)
    assert f"argv[]=/usr/bin/python3 /fsx/unbroken/{changed}/training/launch/environment.py" in started
    assert {line["result"] for line in cluster.provision(cluster.controller, "job.sh")[1:]} == {"skipped"}
    nodes = out(cluster.login, "sh", "-c", "cat /fsx/unbroken/nodes/*").split()
    assert len(nodes) == 3 and set(nodes) == {before[1]}


def test_a_job_that_is_not_whole_is_refused_and_the_one_there_stays(cluster: Cluster) -> None:
    def there() -> tuple[str, bytes]:
        listed = out(cluster.controller, "ls", "-A", "/fsx/unbroken")
        return listed, cluster.controller.get("/fsx/unbroken/current/job.yaml")

    before = there()
    cluster.upload({**cluster.training, "job.yaml": b"num_steps: 8\n"})
    cluster.controller.put("/var/tmp/s3/job.yaml", b"num_steps: 9\n")
    with pytest.raises(AssertionError, match=r"did not arrive whole: job\.yaml is missing or differs"):
        cluster.provision(cluster.controller, "job.sh")
    assert there() == before


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
    reboot_all(cluster)
    wait("an idle node after the reboot", lambda: idle(cluster), 120)
    assert FSX in out(cluster.worker, "findmnt", "--noheadings", "--output=SOURCE", "/fsx")
    assert out(cluster.worker, "stat", "--format=%a", "/opt/dlami/nvme").strip() == "1777"
    wait("the first job in sacct again", lambda: jobs(cluster.worker)[:2] == ["ubuntu", "COMPLETED"])
    assert "login-ip-10-0-128-12" in out(cluster.controller, "scontrol", "show", "reservation")


def test_a_replaced_worker_joins_under_its_old_name(cluster: Cluster) -> None:
    key = cluster.worker.get("/fsx/ubuntu/.ssh/id_ed25519")
    cluster.worker.discard()
    cluster.nodes["worker-group-1"] = boot(cluster.machines, "worker-group-1", cluster.parameters)
    results = {line["step"]: line["result"] for line in cluster.provision(cluster.worker)}
    assert results["85-slurmd"] == "applied"
    assert cluster.worker.get("/fsx/ubuntu/.ssh/id_ed25519") == key
    wait("the replaced node to be idle", lambda: idle(cluster), 120)


def test_starting_slurmd_on_the_controller_is_impossible(cluster: Cluster) -> None:
    assert cluster.controller.run(["systemctl", "start", "slurmd"], timeout=30).returncode != 0
    assert b"ClusterName" in cluster.controller.get("/opt/slurm/etc/slurm.conf")
