"""Login nodes: reserved for root, whatever state they are in, and once."""

from __future__ import annotations

from tests.lifecycle.conftest import MakeLab
from tests.lifecycle.fake_node import LOGIN, WORKER

NAME = "ip-10-0-128-12"


def test_a_login_node_reserves_itself_for_root_alone(make_lab: MakeLab) -> None:
    lab = make_lab(LOGIN)
    assert lab.run() == 0, lab.text
    assert lab.host.machine.reservations == {
        f"login-{NAME}": {
            "Nodes": NAME,
            "StartTime": "now",
            "EndTime": "2037-12-31T00:00:00",
            "Users": "root",
            "Flags": "IGNORE_JOBS",
        }
    }


def test_a_reservation_that_outlasted_the_node_is_kept(make_lab: MakeLab) -> None:
    lab = make_lab(LOGIN)
    lab.host.machine.reservations[f"login-{NAME}"] = {"Nodes": NAME}
    assert lab.run() == 0
    assert lab.results()["87-login"] == "skipped"


def test_one_that_cannot_be_made_fails_the_node(make_lab: MakeLab) -> None:
    lab = make_lab(LOGIN)
    lab.host.machine.reservations[f"login-{NAME}"] = {"Nodes": "another"}
    assert lab.run() == 1
    assert lab.last()["step"] == "87-login"
    assert lab.last()["error"].endswith("Duplicate reservation name")


def test_a_worker_is_not_reserved(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    assert not lab.host.machine.reservations
