"""Nodes that have cgroup v2 and nothing else, on whatever host this is. Real systemd; needs root.

No Slurm here: run tests/rehearsal/agents with UNBROKEN_CGROUP=v2 for that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from unbroken.rehearsal.nodes import cgroups, rootfs, trial
from unbroken.rehearsal.nodes.lab import spec
from unbroken.rehearsal.nodes.machine import NamespaceMachine
from unbroken.rehearsal.nodes.machines import NamespaceMachines
from unbroken.rehearsal.nodes.sweep import sweep_id

from .conftest import booted

pytestmark = pytest.mark.nodes
REHEARSAL = f"unified-{os.getpid()}"


def _empty(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def machines(
    private_mounts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[NamespaceMachines]:
    """An empty place for machines that get v2 only."""
    monkeypatch.setenv(cgroups.FORCED, "v2")
    made = NamespaceMachines(rootfs.layers(rootfs.ensure(print)), _empty(tmp_path), REHEARSAL)
    yield made
    made.close()


def out(machine: NamespaceMachine, script: str) -> list[str]:
    """What a shell script says."""
    return machine.run(["sh", "-c", f"exec 2>&1; {script}"], timeout=20).stdout.split()


def test_systemd_runs_in_a_hierarchy_of_its_own(machines: NamespaceMachines) -> None:
    node = booted(machines, spec(0))
    assert out(node, "findmnt -n -l -t cgroup,cgroup2 -o TARGET,FSTYPE") == ["/sys/fs/cgroup", "cgroup2"]
    assert "0::/init.scope" in out(node, "cat /proc/1/cgroup")
    assert out(node, "systemctl is-system-running") == ["running"]
    assert out(node, "cat /sys/fs/cgroup/system.slice/munge.service/cgroup.procs")


def test_stopping_a_unit_ends_what_left_its_session(machines: NamespaceMachines) -> None:
    node = booted(machines, spec(0))
    start = "systemd-run -q --unit=stray sh -c 'setsid sleep 4244 & exec sleep 4245'"
    wait = "for i in $(seq 100); do pgrep -f 'sleep 424[4]' && exit; sleep 0.05; done"
    assert out(node, f"{start}; {wait}")
    assert out(node, "systemctl stop stray; pgrep -f 'sleep 424[45]'") == []


def test_reboot_and_a_sweep_by_somebody_who_knows_nothing_of_the_version(
    machines: NamespaceMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = booted(machines, spec(0))
    node.reboot()
    node.power_off()
    root = tmp_path / "look"
    cgroups.mount(root, "v2")
    left = root / cgroups.UNIFIED / cgroups.own(cgroups.UNIFIED) / f"{cgroups.PREFIX}{REHEARSAL}"
    (left / "node1" / "system.slice").mkdir(parents=True)
    monkeypatch.delenv(cgroups.FORCED)
    assert sweep_id(REHEARSAL) == []
    assert not left.exists()


@pytest.mark.parametrize("version", ["v2", ""])
def test_the_trial_boots_a_node(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv(cgroups.FORCED, version)
    assert trial.problem() == ""


def test_the_trial_says_why_no_node_boots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lacking = tmp_path / "unshare"
    lacking.write_text("#!/bin/sh\necho unshare failed: Operation not permitted >&2\nexit 1\n")
    lacking.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert trial.problem() == "unshare failed: Operation not permitted"
