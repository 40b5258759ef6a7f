"""The whole bundle on one node of each role: what it leaves, that running it again changes nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.lifecycle.conftest import MakeLab
from tests.lifecycle.fake_node import CONTROLLER, LOGIN, WORKER, snapshot
from unbroken_node.main import ROLE_STEP
from unbroken_node.steps import STEPS as STEPS_OF_ALL

GOLDEN = Path(__file__).parent / "golden"
COMMON = ["10-role", "20-network", "25-lustre-client", "30-storage", "40-nvme", "50-user", "60-ssh"]
STEPS = {
    CONTROLLER: [*COMMON, "70-accounting", "80-slurmctld", "90-training", "95-environment", "99-version"],
    WORKER: [*COMMON, "85-slurmd", "99-version"],
    LOGIN: [*COMMON, "85-slurmd", "87-login", "99-version"],
}
GOLDEN_FILES = {
    CONTROLLER: [
        "opt/slurm/etc/accounting.conf",
        "opt/slurm/etc/slurmdbd.conf",
        "etc/mysql/mariadb.conf.d/80-unbroken.cnf",
        "etc/systemd/system/fsx.mount",
        "etc/systemd/system/slurmdbd.service.d/50-unbroken.conf",
        "etc/systemd/system/slurmctld.service.d/50-unbroken.conf",
        "etc/systemd/system/unbroken-environment.service",
    ],
    WORKER: [
        "etc/systemd/system/slurmd.service",
        "etc/systemd/system/slurmd.service.d/50-unbroken.conf",
        "etc/systemd/system/unbroken-nvme.service",
    ],
}
EVERY_ROLE = pytest.mark.parametrize("address", [CONTROLLER, WORKER, LOGIN])


@EVERY_ROLE
def test_every_step_of_the_role_runs_in_order(make_lab: MakeLab, address: str) -> None:
    lab = make_lab(address)
    assert lab.run() == 0, lab.text
    assert list(lab.results()) == STEPS[address]


def test_every_step_is_in_the_reference() -> None:
    page = Path(__file__).parents[2] / "docs/reference/node-steps.md"
    told = re.findall(r"^\| `(\d\d-[a-z-]+)` \|", page.read_text(), re.MULTILINE)
    assert told == list(dict.fromkeys([ROLE_STEP, *(step.name for step in STEPS_OF_ALL)]))


@EVERY_ROLE
def test_a_second_run_skips_every_step_and_changes_no_byte(make_lab: MakeLab, address: str) -> None:
    lab = make_lab(address)
    assert lab.run() == 0
    before, calls = snapshot(lab.root), len(lab.host.machine.calls)
    assert lab.run() == 0
    assert set(lab.results().values()) - {"skipped"} == {lab.log[0]["result"]}
    assert snapshot(lab.root) == before
    changing = {"enable", "disable", "stop", "restart", "daemon-reload"}
    assert not [c for c in lab.host.machine.calls[calls:] if c[0] == "systemctl" and c[1] in changing]


@pytest.mark.parametrize(("address", "name"), [(a, n) for a, names in GOLDEN_FILES.items() for n in names])
def test_files_are_the_golden_ones(make_lab: MakeLab, address: str, name: str) -> None:
    lab = make_lab(address)
    if address == WORKER:
        (lab.root / "opt/dlami/nvme").mkdir(parents=True)
    assert lab.run() == 0
    text = lab.host.redact((lab.root / name).read_text())
    text = text.replace(lab.node().deployed.training_version, "VERSION")
    golden = GOLDEN / name.replace("/", "_")
    if os.environ.get("ACCEPT_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text(), "accept it: ACCEPT_GOLDEN=1 python -m pytest tests/lifecycle"


@EVERY_ROLE
def test_a_replaced_node_with_a_fresh_root_joins_what_survived(make_lab: MakeLab, address: str) -> None:
    first = make_lab(address)
    assert first.run() == 0
    shared = snapshot(first.root / "fsx")
    (first.root / "fsx").rename(first.root.parent / "kept")
    first.root.rename(first.root.parent / "gone")
    first.bundle.rename(first.root.parent / "gone-bundle")
    second = make_lab(address)
    (first.root.parent / "kept").rename(second.root / "fsx")
    assert second.run() == 0, second.text
    assert snapshot(second.root / "fsx") == shared


def test_each_line_has_start_end_and_seconds(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.run()
    more = {"25-lustre-client": {"found"}}
    for line in lab.log:
        assert {"step", "result", "start", "end", "seconds"} | more.get(line["step"], set()) == set(line)
    assert lab.log[0]["start"].endswith("+00:00")
