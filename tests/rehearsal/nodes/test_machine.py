"""A machine in namespaces: boot, files, programs, reboot, power-off. Real systemd; needs root."""

from __future__ import annotations

import ctypes
import subprocess
import time
from pathlib import Path

import pytest

from unbroken.rehearsal.hyperpod.machines import MachineError
from unbroken.rehearsal.nodes import enter
from unbroken.rehearsal.nodes.lab import spec
from unbroken.rehearsal.nodes.machine import NamespaceMachine
from unbroken.rehearsal.nodes.machines import NamespaceMachines

from .conftest import DNS_NAME, booted

pytestmark = pytest.mark.nodes
PR_SET_CHILD_SUBREAPER = 36
Pair = tuple[NamespaceMachine, NamespaceMachine]


def out(machine: NamespaceMachine, *argv: str) -> str:
    """Output of a program that must succeed."""
    result = machine.run(argv, timeout=20)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_systemd_runs_as_pid_1_with_munge_up(node: NamespaceMachine) -> None:
    assert out(node, "systemctl", "is-system-running") == "running"
    assert out(node, "cat", "/proc/1/comm") == "systemd"
    assert out(node, "systemctl", "is-active", "munge") == "active"


@pytest.mark.parametrize("unit", ["slurmctld", "slurmd", "slurmdbd", "mariadb"])
def test_the_daemons_a_lifecycle_script_starts_are_there_and_off(node: NamespaceMachine, unit: str) -> None:
    assert node.run(["systemctl", "is-enabled", unit], timeout=20).stdout.strip() == "disabled"
    assert node.run(["systemctl", "is-active", unit], timeout=20).stdout.strip() == "inactive"


def test_the_two_nodes_hear_each_other_and_share_a_munge_key(pair: Pair) -> None:
    first, second = pair
    assert out(first, "getent", "hosts", second.spec.name).split()[0] == second.spec.address
    long_name = f"{second.spec.name}.us-west-2.compute.internal"
    assert out(first, "getent", "hosts", long_name).split()[0] == second.spec.address
    credential = out(first, "munge", "-n")
    second.put("/tmp/credential", credential.encode())
    assert "Success" in out(second, "unmunge", "-i", "/tmp/credential")


def test_a_name_nobody_has_is_unknown_at_once(node: NamespaceMachine) -> None:
    assert node.run(["getent", "hosts", "nobody.example"], timeout=5).returncode == 2


def test_put_replaces_in_one_step_and_get_reads(node: NamespaceMachine) -> None:
    node.put("/opt/ml/config/new/file", b"\x00one", 0o640)
    node.put("/opt/ml/config/new/file", b"two", 0o600)
    assert node.get("/opt/ml/config/new/file") == b"two"
    assert out(node, "stat", "-c", "%a %U", "/opt/ml/config/new/file") == "600 root"


def test_put_keeps_the_owner_of_a_file_that_was_there(node: NamespaceMachine) -> None:
    node.put("/tmp/owned", b"1")
    out(node, "chown", "munge", "/tmp/owned")
    node.put("/tmp/owned", b"2")
    assert out(node, "stat", "-c", "%U", "/tmp/owned") == "munge"


def test_get_of_a_missing_file(node: NamespaceMachine) -> None:
    with pytest.raises(FileNotFoundError, match=r"ip-10-0-128-10:/nothing"):
        node.get("/nothing")


def test_put_follows_links_inside_the_node_and_not_on_the_host(node: NamespaceMachine) -> None:
    node.put("/etc/slurm/probe", b"inside")
    assert node.get("/opt/slurm/etc/probe") == b"inside"
    assert not Path("/opt/slurm/etc/probe").exists()


def test_run_gives_the_exit_code_both_streams_and_the_working_directory(node: NamespaceMachine) -> None:
    result = node.run(
        ["sh", "-c", "pwd; echo $WORD >&2; exit 7"], timeout=10, cwd="/opt", env={"WORD": "said"}
    )
    assert (result.returncode, result.stdout, result.stderr) == (7, "/opt\n", "said\n")


def test_run_has_the_images_environment_and_none_of_ours(
    node: NamespaceMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_HOST", "1")
    names = {line.partition("=")[0] for line in out(node, "env").splitlines()}
    assert "AWS_ENDPOINT_URL" in names
    assert not {"OF_THE_HOST", "HOME", "VIRTUAL_ENV"} & names


def test_run_appends_to_a_file_inside(node: NamespaceMachine) -> None:
    for word in ("one", "two"):
        node.run(
            ["sh", "-c", f"echo {word}; echo err >&2"], timeout=10, stdout_path="/var/log/provision/p.log"
        )
    assert node.get("/var/log/provision/p.log") == b"one\nerr\ntwo\nerr\n"


def test_run_that_takes_too_long_is_killed_with_its_children(node: NamespaceMachine) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        node.run(["sh", "-c", "sleep 4242 & sleep 4242"], timeout=0.5)
    assert node.run(["pgrep", "-f", "sleep 4242"], timeout=10).stdout == ""


def test_devices_follow_the_instance_type(pair: Pair) -> None:
    gpu, plain = pair
    devices = out(gpu, "ls", "/dev").split()
    assert {f"nvidia{index}" for index in range(8)} | {"nvidiactl"} <= set(devices)
    assert len(out(gpu, "ls", "/dev/infiniband").split()) == 4
    assert not {"nvidia0", "nvidiactl", "infiniband", "kmsg", "vda"} & set(out(plain, "ls", "/dev").split())


def test_nvidia_smi_is_replayed_by_instance_type(pair: Pair) -> None:
    gpu, plain = pair
    listed = out(gpu, "nvidia-smi", "-L").splitlines()
    assert len(listed) == 8
    assert listed[7].startswith("GPU 7: NVIDIA A100-SXM4-80GB (UUID: GPU-")
    assert plain.run(["nvidia-smi"], timeout=10).returncode == 9


def test_nvme_is_there_only_where_the_type_has_it(pair: Pair, machines: NamespaceMachines) -> None:
    assert out(pair[0], "findmnt", "-n", "-o", "TARGET", "/opt/dlami/nvme") == "/opt/dlami/nvme"
    bare = machines.create(spec(7, instance_type="ml.m5.12xlarge", gpus=0))
    assert bare.run(["test", "-e", "/opt/dlami/nvme"], timeout=10).returncode == 1
    bare.discard()


def test_mount_lustre_is_shared_and_shows_its_source(pair: Pair) -> None:
    source = f"{DNS_NAME}@tcp:/abcd"
    for machine in pair:
        out(machine, "mkdir", "-p", "/fsx")
        out(machine, "mount", "-t", "lustre", "-o", "relatime,flock", source, "/fsx")
    pair[0].put("/fsx/shared", b"data")
    assert pair[1].get("/fsx/shared") == b"data"
    assert out(pair[1], "findmnt", "-n", "-o", "SOURCE", "/fsx") == source


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (f"{DNS_NAME}@tcp:/nope", "failed: No such file or directory\nIs the MGS specification correct?"),
        ("fs-0zzz.fsx.us-west-2.amazonaws.com@tcp:/abcd", "failed: Input/output error\nIs the MGS running?"),
        ("/dev/sda1", "failed: Invalid argument"),
    ],
)
def test_mount_lustre_fails_as_the_real_one(node: NamespaceMachine, source: str, said: str) -> None:
    out(node, "mkdir", "-p", "/mnt/x")
    result = node.run(["mount", "-t", "lustre", source, "/mnt/x"], timeout=10)
    assert result.returncode != 0
    assert said in result.stderr
    assert node.run(["mountpoint", "-q", "/mnt/x"], timeout=10).returncode != 0


def test_mount_nfs_is_shared_too_and_fails_as_the_real_one(pair: Pair, machines: NamespaceMachines) -> None:
    name = "fs-0def.fsx.us-west-2.amazonaws.com"
    machines.attach_home("fs-0def", name, 16)
    for machine in pair:
        out(machine, "mkdir", "-p", "/homes", "/mnt/y")
        out(machine, "mount", "-t", "nfs", "-o", "noatime,nfsvers=4.2", f"{name}:/fsx", "/homes")
    pair[0].put("/homes/shared", b"data")
    assert pair[1].get("/homes/shared") == b"data"
    assert out(pair[1], "findmnt", "-n", "-o", "SOURCE", "/homes") == f"{name}:/fsx"
    for source, said in ((f"{name}:/nope", "No such file or directory"), ("gone:/fsx", "Failed to resolve")):
        result = pair[0].run(["mount", "-t", "nfs", source, "/mnt/y"], timeout=10)
        assert result.returncode == 32 and said in result.stderr


def test_a_file_system_attached_later_reaches_running_nodes(
    node: NamespaceMachine, machines: NamespaceMachines
) -> None:
    machines.attach_file_system("fs-0late", "fs-0late.fsx.us-west-2.amazonaws.com", "late", 16)
    machines.attach_file_system("fs-0late", "fs-0late.fsx.us-west-2.amazonaws.com", "late", 16)
    out(node, "mkdir", "-p", "/late")
    out(node, "mount", "-t", "lustre", "fs-0late.fsx.us-west-2.amazonaws.com@tcp:/late", "/late")


def test_a_file_system_is_as_large_as_said(node: NamespaceMachine) -> None:
    out(node, "mkdir", "-p", "/sized")
    out(node, "mount", "-t", "lustre", f"{DNS_NAME}@tcp:/abcd", "/sized")
    assert out(node, "df", "--output=size", "-m", "/sized").split()[-1] == "64"


def test_the_hosts_kernel_settings_cannot_be_changed_from_inside(node: NamespaceMachine) -> None:
    assert node.run(["sysctl", "-w", "kernel.panic=1"], timeout=10).returncode != 0


def test_a_node_writes_no_cgroup_outside_its_own(node: NamespaceMachine) -> None:
    mounted = out(node, "findmnt", "-n", "-l", "-t", "cgroup,cgroup2", "-o", "TARGET").split()
    v1 = {"systemd", "freezer", "memory"}
    assert mounted == ["/sys/fs/cgroup"] or {Path(target).name for target in mounted} <= v1


def test_the_aws_cli_and_the_training_environment_answer(node: NamespaceMachine) -> None:
    assert out(node, "aws", "--version").startswith("aws-cli/")
    probe = "import torch, numpy, transformers, xxhash; print(torch.__version__)"
    assert out(node, "/opt/rehearsal/training/bin/python3", "-c", probe)


def test_reboot_keeps_the_root_and_loses_the_nvme(machines: NamespaceMachines) -> None:
    machine = booted(machines, spec(2))
    machine.put("/root/kept", b"yes")
    machine.put("/opt/dlami/nvme/lost", b"yes")
    machine.put("/opt/sagemaker/volume", b"yes")
    assert out(machine, "mountpoint", "/opt/sagemaker")
    machine.run(["sh", "-c", "sleep 4243 >/dev/null 2>&1 &"], timeout=10)
    before = machine.pid
    machine.reboot()
    assert machine.get("/root/kept") == b"yes"
    assert machine.pid != before
    assert machine.get("/opt/sagemaker/volume") == b"yes"
    assert machine.run(["pgrep", "-f", "sleep 4243"], timeout=10).stdout == ""
    with pytest.raises(FileNotFoundError):
        machine.get("/opt/dlami/nvme/lost")
    machine.discard()


def test_power_off_sends_its_peers_nothing(machines: NamespaceMachines, pair: Pair) -> None:
    machine = booted(machines, spec(3))
    machine.run(["sh", "-c", "python3 -m http.server 8000 >/dev/null 2>&1 &"], timeout=10)
    client = (
        "import socket, sys, time\n"
        "end = time.monotonic() + 10\n"
        "while True:\n"
        "    try: s = socket.create_connection((sys.argv[1], 8000), 1); break\n"
        "    except OSError:\n"
        "        if time.monotonic() > end: raise\n"
        "open('/tmp/connected', 'w').close()\n"
        "s.settimeout(float(sys.argv[2]))\n"
        "try: print('heard', s.recv(1))\n"
        "except TimeoutError: print('silence')\n"
    )
    pair[1].put("/tmp/client.py", client.encode())
    pair[1].run(
        ["sh", "-c", f"python3 /tmp/client.py {machine.spec.address} 2 >/tmp/heard 2>&1 &"], timeout=10
    )
    wait_for(pair[1], "/tmp/connected")
    machine.power_off()
    machine.power_off()
    assert not machine.alive()
    assert machine.pid == 0
    waited = pair[1].run(
        ["sh", "-c", "for i in $(seq 100); do [ -s /tmp/heard ] && exit; sleep 0.1; done"], timeout=15
    )
    assert waited.returncode == 0
    assert pair[1].get("/tmp/heard") == b"silence\n"
    with pytest.raises(MachineError, match="powered off"):
        machine.run(["true"], timeout=1)
    machine.discard()


def wait_for(machine: NamespaceMachine, path: str) -> None:
    """Return when the file is there."""
    script = 'for i in $(seq 100); do [ -e "$0" ] && exit 0; sleep 0.1; done; exit 1'
    assert machine.run(["sh", "-c", script, path], timeout=15).returncode == 0


def test_a_machine_of_the_same_name_and_address_takes_the_place(
    machines: NamespaceMachines, pair: Pair
) -> None:
    old = booted(machines, spec(4))
    old.put("/root/old", b"1")
    old.power_off()
    new = booted(machines, spec(4))
    with pytest.raises(FileNotFoundError):
        new.get("/root/old")
    assert out(pair[1], "ping", "-c1", "-W2", new.spec.name)
    old.discard()
    new.discard()
    new.discard()


def test_a_node_that_dies_by_itself_is_not_alive(machines: NamespaceMachines) -> None:
    machine = booted(machines, spec(5))
    pid = machine.pid
    machine.run(["systemctl", "poweroff", "--force", "--force"], timeout=10)
    subprocess.run(["tail", "--pid", str(pid), "-f", "/dev/null"], timeout=20, check=True)
    until_dead(machine)
    machine.discard()


def until_dead(machine: NamespaceMachine) -> None:
    """Poll."""
    deadline = time.monotonic() + 10
    while machine.alive():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_visit_that_was_broken_off_does_not_hold_up_the_end(machines: NamespaceMachines) -> None:
    machine = booted(machines, spec(8))
    # As in the server, which is pid 1 of its namespace: what loses its parent becomes our child.
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        visit = [*enter.from_server(machine.pid), "sh", "-c", "echo in; exec sleep 600"]
        with subprocess.Popen(visit, stdout=subprocess.PIPE) as nsenter:
            assert nsenter.stdout is not None and nsenter.stdout.readline() == b"in\n"
            nsenter.kill()
        machine.power_off()
        assert not machine.alive()
        machine.discard()
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0)


def test_what_is_discarded_is_unmounted(machines: NamespaceMachines) -> None:
    before = Path("/proc/self/mounts").read_text()
    machine = booted(machines, spec(6))
    assert Path("/proc/self/mounts").read_text() != before
    machine.discard()
    assert Path("/proc/self/mounts").read_text() == before
