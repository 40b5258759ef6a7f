"""The Lustre client: versions that fit, packages that stay, and its network over EFA."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import CONTROLLER, LUSTRE_PACKAGES, WORKER
from unbroken_node.errors import NodeError
from unbroken_node.steps import lustre_efa


def set_storage(lab: Lab, **values: object) -> None:
    node = json.loads((lab.bundle / "node.json").read_text())
    node["storage"].update(values)
    (lab.bundle / "node.json").write_text(json.dumps(node))


@pytest.mark.parametrize(
    ("client", "servers", "works"),
    [
        ("2.15.6-1fsx23", "2.15", True),
        ("2.12.8", "2.15", True),
        ("2.15.6", "2.12", True),
        ("2.12.8", "2.10", True),
        ("2.10.8", "2.12", True),
        ("2.10.8", "2.15", False),
        ("2.15.6", "2.10", False),
    ],
)
def test_pairs_of_versions(make_lab: MakeLab, client: str, servers: str, works: bool) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.lustre = client
    set_storage(lab, lustre_version=servers)
    assert (lab.run() == 0) == works, lab.text
    line = next(line for line in lab.log if line["step"] == "25-lustre-client")
    if works:
        assert line["found"] == f"client {client}, servers {servers}, kernel 6.8.0-1018-aws"
    else:
        assert line["error"].startswith(f"a Lustre {client} client does not work with {servers} servers; use")


def test_a_kernel_without_a_module_is_named(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.lustre = None
    assert lab.run() == 1
    assert lab.last()["error"].startswith("there is no Lustre client module for kernel 6.8.0-1018-aws; use")


def test_the_clients_packages_are_held_once(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.held.add(LUSTRE_PACKAGES[0])
    assert lab.run() == 0 and lab.run() == 0
    holds = [call for call in lab.host.machine.calls if call[:2] == ("apt-mark", "hold")]
    assert holds == [("apt-mark", "hold", LUSTRE_PACKAGES[1])]


def test_an_image_without_such_packages_is_left_alone(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.packages.clear()
    assert lab.run() == 0
    assert not [call for call in lab.host.machine.calls if call[0] == "apt-mark"]


def devices(lab: Lab) -> None:
    (lab.root / "dev/infiniband").mkdir(parents=True)
    (lab.root / "dev/infiniband/uverbs0").touch()


def test_an_efa_network_that_is_up_is_enough(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    set_storage(lab, efa=True)
    devices(lab)
    lab.host.machine.efa_status = "up"
    assert lab.run() == 0, lab.text
    assert lab.results()["27-lustre-efa"] == "skipped"


def test_a_node_whose_group_has_no_efa_uses_tcp(make_lab: MakeLab) -> None:
    lab = make_lab(CONTROLLER)
    set_storage(lab, efa=True)
    assert lab.run() == 0 and "27-lustre-efa" not in lab.results()


def test_a_node_that_should_have_efa_and_has_none_is_refused(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    set_storage(lab, efa=True)
    assert lab.run() == 1
    assert lab.last()["step"] == "27-lustre-efa"
    assert "group worker-group-1 has EFA, but there is no device in /dev/infiniband" in lab.last()["error"]


@pytest.mark.parametrize("mounted", [False, True])
def test_aws_own_program_sets_efa_up(
    make_lab: MakeLab, monkeypatch: pytest.MonkeyPatch, mounted: bool
) -> None:
    lab = make_lab(WORKER)
    set_storage(lab, efa=True)
    devices(lab)
    machine = lab.host.machine
    if mounted:
        machine.mount()
    order: list[str] = []

    def run(name: str) -> None:
        setattr(machine, f"_{name}", lambda *args: effect(name))

    def effect(name: str) -> str:
        order.append(name)
        if name == "bash":
            machine.efa_status = "up"
        if name == "umount":
            machine._table().write_text("/dev/root / ext4 rw 0 0\n")
        return ""

    for name in ("umount", "lustre_rmmod", "bash"):
        run(name)
    monkeypatch.setattr(lustre_efa, "fetch", lambda folder: folder / "setup.sh")
    node = lab.node()
    lustre_efa.apply(lab.host, node)
    assert order == [*(["umount"] if mounted else []), "lustre_rmmod", "bash"]
    assert lustre_efa.check(lab.host, node) is None and machine.mounted() == mounted


def test_without_a_way_to_the_program_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lustre_efa, "ARCHIVE", "http://127.0.0.1:9/client.zip")
    with pytest.raises(NodeError, match=r"cannot be fetched .* use an image on which EFA is set up"):
        lustre_efa.fetch(tmp_path)
