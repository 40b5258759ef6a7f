"""Home directories on a file system of their own: mounted, used by the user's steps, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import HOME, HOME_SOURCE, WORKER, snapshot
from unbroken_node import mounts
from unbroken_node.errors import NodeError


def with_home(make_lab: MakeLab, address: str = WORKER, **deployed: Any) -> Lab:
    """A node of a cluster whose homes are on OpenZFS."""
    lab = make_lab(address)
    node = json.loads((lab.bundle / "node.json").read_text())
    node["home"], node["user"]["home"] = {"mount_path": "/home"}, "/home/ubuntu"
    (lab.bundle / "node.json").write_text(json.dumps(node))
    given = json.loads((lab.bundle / "deployed.json").read_text()) | {"home_dns_name": HOME} | deployed
    (lab.bundle / "deployed.json").write_text(json.dumps(given))
    return lab


def test_the_home_is_mounted_and_the_users_work_stays_on_lustre(make_lab: MakeLab) -> None:
    lab = with_home(make_lab)
    assert lab.run() == 0, lab.text
    assert lab.results()["35-home"] == "applied"
    assert lab.host.machine.accounts["ubuntu"] == (1000, 1000, "/home/ubuntu")
    assert (lab.root / "home/ubuntu/.ssh/id_ed25519").is_file()
    assert (lab.root / "fsx/ubuntu").is_dir() and not (lab.root / "fsx/ubuntu/.ssh").exists()
    unit = (lab.root / "etc/systemd/system/home.mount").read_text()
    assert f"What={HOME_SOURCE}\nWhere=/home\nType=nfs\n" in unit and "nfsvers=4.2" in unit
    before = snapshot(lab.root)
    assert lab.run() == 0 and set(lab.results().values()) == {"compute", "skipped"}
    assert snapshot(lab.root) == before


def test_a_missing_nfs_client_is_installed_once(make_lab: MakeLab) -> None:
    lab = with_home(make_lab)
    assert lab.run() == 0, lab.text
    installs = [call for call in lab.host.machine.calls if call[:2] == ("apt-get", "install")]
    assert len(installs) == 1 and installs[0][-1] == "nfs-common"
    assert (lab.root / "sbin/mount.nfs").exists()


def test_writes_are_refused_while_the_home_is_not_mounted(make_lab: MakeLab) -> None:
    lab = with_home(make_lab)
    lab.host.machine.mount()
    with pytest.raises(NodeError, match="refusing to write /home/ubuntu: nothing is mounted at /home"):
        mounts.shared(lab.host, lab.node(), "/home/ubuntu")
    assert mounts.holding(lab.node(), "/fsx/ubuntu").kind == "lustre"


def test_a_deployment_without_the_home_is_named(make_lab: MakeLab) -> None:
    lab = with_home(make_lab, home_dns_name=None)
    assert lab.run() == 1
    assert lab.last()["error"] == "node.json has a home file system, and deployed.json has no home_dns_name"


def test_a_home_that_does_not_resolve_is_waited_for(make_lab: MakeLab) -> None:
    lab = with_home(make_lab)
    lab.host.names.discard(HOME)
    assert lab.run() == 1
    assert lab.last()["step"] == "20-network" and f"{HOME} does not resolve" in lab.last()["error"]


def test_a_home_below_the_shared_file_system_is_its_own(make_lab: MakeLab) -> None:
    lab = with_home(make_lab)
    node = json.loads((lab.bundle / "node.json").read_text())
    node["home"], node["user"]["home"] = {"mount_path": "/fsx/home"}, "/fsx/home/ubuntu"
    (lab.bundle / "node.json").write_text(json.dumps(node))
    assert mounts.holding(lab.node(), "/fsx/home/ubuntu").kind == "nfs"
    assert mounts.holding(lab.node(), "/fsx/ubuntu").kind == "lustre"
