"""`api` mode: HyperPod mounts and starts Slurm, the steps look and wait, and say what it has not done."""

from __future__ import annotations

import json

import pytest

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import CONTROLLER, LOGIN, WORKER, snapshot

COMMON = ["10-role", "20-network", "25-lustre-client", "30-storage", "40-nvme", "50-user", "60-ssh"]
STEPS = {
    CONTROLLER: [*COMMON, "70-accounting", "80-slurmctld", "90-training", "95-environment", "99-version"],
    WORKER: [*COMMON, "85-slurmd", "99-version"],
    LOGIN: [*COMMON, "85-slurmd", "87-login", "99-version"],
}
OURS = {"25-lustre-client", "40-nvme", "50-user", "60-ssh", "87-login", *STEPS[CONTROLLER][-3:]}


def in_api_mode(make_lab: MakeLab, address: str) -> Lab:
    lab = make_lab(address)
    node = json.loads((lab.bundle / "node.json").read_text())
    node["slurm"]["mode"] = "api"
    (lab.bundle / "node.json").write_text(json.dumps(node))
    (lab.root / "opt/ml/config/provisioning_parameters.json").unlink()
    return lab


def by_hyperpod(lab: Lab) -> None:
    """What HyperPod does on the node."""
    machine = lab.host.machine
    if not machine.mounted():
        machine.mount()
    if machine.address == CONTROLLER:
        machine.active |= {"slurmdbd.service", "slurmctld.service"}
        machine.clusters.append("ml")
    else:
        machine.active.add("slurmd.service")


@pytest.mark.parametrize("address", [CONTROLLER, WORKER, LOGIN])
def test_on_a_configured_node_only_our_own_steps_change_anything(make_lab: MakeLab, address: str) -> None:
    lab = in_api_mode(make_lab, address)
    by_hyperpod(lab)
    assert lab.run() == 0, lab.text
    assert list(lab.results()) == STEPS[address]
    assert {step for step, result in lab.results().items() if result == "applied"} <= OURS
    started = [
        c for c in lab.host.machine.calls if c[0] == "systemctl" and c[1] in ("enable", "start", "stop")
    ]
    assert not [c for c in started if "slurm" in " ".join(c)]
    assert not (lab.root / "etc/systemd/system/fsx.mount").exists()
    before = snapshot(lab.root)
    assert lab.run() == 0 and set(lab.results().values()) - {lab.log[0]["result"]} == {"skipped"}
    assert snapshot(lab.root) == before


@pytest.mark.parametrize("address", [CONTROLLER, WORKER])
def test_a_node_that_is_configured_meanwhile_is_waited_for(make_lab: MakeLab, address: str) -> None:
    lab = in_api_mode(make_lab, address)
    slept = [0.0]
    sleep = lab.host.sleep

    def sleeping(seconds: float) -> None:
        slept[0] += seconds
        if slept[0] > 60 and not lab.host.machine.mounted():
            by_hyperpod(lab)
        sleep(seconds)

    lab.host.sleep = sleeping  # type: ignore[method-assign]
    assert lab.run() == 0, lab.text
    assert lab.results()["30-storage"] == "applied"


def test_a_mount_that_never_comes_is_hyperpods(make_lab: MakeLab) -> None:
    lab = in_api_mode(make_lab, WORKER)
    assert lab.run() == 1
    assert lab.last()["step"] == "30-storage"
    assert lab.last()["error"].startswith("waited 300 s for HyperPod to mount fs-0123.fsx")


def test_slurm_that_never_comes_is_hyperpods(make_lab: MakeLab) -> None:
    for address, step, error in (
        (CONTROLLER, "70-accounting", "waited 600 s for HyperPod to set up Slurm's accounting"),
        (
            WORKER,
            "85-slurmd",
            "waited 600 s for HyperPod to start slurmd on ip-10-0-128-11: slurmd.service does",
        ),
    ):
        lab = in_api_mode(make_lab, address)
        lab.host.machine.mount()
        assert lab.run() == 1
        assert lab.last()["step"] == step and lab.last()["error"].startswith(error)


def test_several_login_groups_are_login_nodes(make_lab: MakeLab) -> None:
    lab = in_api_mode(make_lab, LOGIN)
    node = json.loads((lab.bundle / "node.json").read_text())
    node["slurm"]["login_groups"] = ["another", "login-group"]
    (lab.bundle / "node.json").write_text(json.dumps(node))
    assert lab.node().role == "login" and lab.node().group == "login-group"
