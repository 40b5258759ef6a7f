"""slurmd on compute and login nodes: the placeholder, the controller, the registration."""

from __future__ import annotations

import pytest

from tests.lifecycle.conftest import MakeLab
from tests.lifecycle.fake_node import CONTROLLER, EPOCH, LOGIN, SLURMD_UNIT, WORKER
from unbroken_node.errors import NodeError
from unbroken_node.steps import slurmd

UNIT = "etc/systemd/system/slurmd.service"


@pytest.mark.parametrize("placeholder", ["$SLURMD_OPTIONS", "${SLURMD_OPTIONS}"])
def test_the_placeholder_is_filled_in_once(make_lab: MakeLab, placeholder: str) -> None:
    node = make_lab(WORKER).node()
    text = SLURMD_UNIT.replace("$SLURMD_OPTIONS", placeholder)
    once = slurmd.filled_in(text, node)
    assert f"slurmd -D --conf-server {CONTROLLER}:6817\n" in once
    assert slurmd.filled_in(once, node) == once


def test_another_controllers_address_is_replaced(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    unit = lab.root / UNIT
    unit.write_text(unit.read_text().replace(CONTROLLER, "10.0.128.99"))
    assert lab.run() == 0
    assert f"--conf-server {CONTROLLER}:6817\n" in unit.read_text()
    assert "10.0.128.99" not in unit.read_text()
    assert ("systemctl", "stop", "slurmd.service") in lab.host.machine.calls, "the running one has the old"


def test_a_unit_without_a_placeholder_is_refused(make_lab: MakeLab) -> None:
    with pytest.raises(NodeError, match=r"has neither \$SLURMD_OPTIONS nor --conf-server"):
        slurmd.filled_in("[Service]\nExecStart=/usr/sbin/slurmd -D\n", make_lab(WORKER).node())


def test_a_missing_unit_is_named(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    (lab.root / UNIT).unlink()
    assert lab.run() == 1
    assert lab.last()["error"].startswith("/etc/systemd/system/slurmd.service does not exist")


def test_a_controller_that_is_not_ready_is_named(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.ports.clear()
    assert lab.run() == 1
    assert lab.last()["error"] == f"waited 300 s for a controller to be ready at {CONTROLLER}, port 6817"
    assert "slurmd.service" not in lab.host.machine.active


def stamp(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).isoformat(timespec="seconds")


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("State=DOWN*+CLOUD SlurmdStartTime=2099-01-01T00:00:00", "is DOWN*+CLOUD"),
        ("State=IDLE+NOT_RESPONDING SlurmdStartTime=2099-01-01T00:00:00", "is IDLE+NOT_RESPONDING"),
        ("State=UNKNOWN SlurmdStartTime=None", "is UNKNOWN and this slurmd has not registered"),
        (f"State=IDLE SlurmdStartTime={stamp(EPOCH)}", "is IDLE and this slurmd has not registered"),
        ("", "slurmctld does not answer, or does not know ip-10-0-128-11"),
    ],
)
def test_only_a_registration_of_this_slurmd_counts(make_lab: MakeLab, state: str, why: str) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.node_state = state
    assert lab.run() == 1
    error = lab.last()["error"]
    assert error.startswith("waited 120 s for slurmctld to hear from ip-10-0-128-11: ") and why in error
    assert error.endswith("slurmd.service said: slurmd: fatal: the reason it gave")


@pytest.mark.parametrize("state", ["FAIL", "IDLE+DRAIN", "MAINT"])
def test_a_state_someone_gave_the_node_is_not_undone(make_lab: MakeLab, state: str) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.node_state = f"State={state} SlurmdStartTime=2099-01-01T00:00:00"
    assert lab.run() == 0
    assert not [call for call in lab.host.machine.calls if call[:2] == ("scontrol", "update")]


def test_a_login_node_that_slurm_does_not_list_is_named(make_lab: MakeLab) -> None:
    lab = make_lab(LOGIN)
    lab.host.machine.node_state = ""
    assert lab.run() == 1
    assert "slurmctld does not answer, or does not know ip-10-0-128-12" in lab.last()["error"]


def test_slurmctld_never_starts_on_a_worker(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.enabled.add("slurmctld.service")
    assert lab.run() == 0
    assert "slurmctld.service" not in lab.host.machine.enabled
