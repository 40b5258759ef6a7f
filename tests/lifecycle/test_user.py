"""The user and its keys: existing accounts, other ids, several nodes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import CONTROLLER, LOGIN, WORKER
from unbroken.config import UserConfig
from unbroken_node.host import Result
from unbroken_node.steps import ssh, user


def commands(lab: Lab) -> set[str]:
    return {call[0] for call in lab.host.machine.calls}


def test_a_missing_account_is_made_with_the_clusters_id(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    assert lab.host.machine.accounts["ubuntu"] == (1000, 1000, "/fsx/ubuntu")
    assert lab.host.owner("/fsx/ubuntu") == "1000:1000"
    assert lab.host.mode("/fsx/ubuntu") == 0o700, "others on the cluster have no business there"


def test_a_home_that_exists_keeps_its_mode(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.mount()
    (lab.root / "fsx/ubuntu").mkdir()
    (lab.root / "fsx/ubuntu").chmod(0o750)
    assert lab.run() == 0
    assert lab.host.mode("/fsx/ubuntu") == 0o750


def test_the_images_account_keeps_its_id_and_gets_its_home_without_a_move(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.accounts["ubuntu"] = (1000, 1000, "/home/ubuntu")
    (lab.root / "home/ubuntu").mkdir(parents=True)
    assert lab.run() == 0
    assert lab.host.machine.accounts["ubuntu"] == (1000, 1000, "/fsx/ubuntu")
    assert "useradd" not in commands(lab)
    assert (lab.root / "home/ubuntu").is_dir(), "the old home is left as it is"


def test_an_account_with_another_id_is_refused_with_both_ids(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.accounts["ubuntu"] = (1001, 1001, "/home/ubuntu")
    assert lab.run() == 1
    assert lab.last()["step"] == "50-user"
    assert lab.last()["error"].startswith("user ubuntu has id 1001 here and 1000 in the cluster file")
    assert not (lab.root / "fsx/ubuntu").exists()


@pytest.mark.parametrize(
    ("uid", "way_out"),
    [(1001, "set user.uid to 1001, or choose another user.name"), (5, "choose another user.name")],
)
def test_the_way_out_is_one_the_cluster_file_takes(make_lab: MakeLab, uid: int, way_out: str) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.accounts["ubuntu"] = (uid, uid, "/home/ubuntu")
    assert lab.run() == 1
    assert lab.last()["error"].split(": ", 1)[1] == way_out
    taken = UserConfig.model_json_schema()["properties"]["uid"]["minimum"]
    assert (uid >= taken) == ("user.uid" in way_out)


def test_an_id_that_belongs_to_someone_else_is_refused(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.accounts["ec2-user"] = (1000, 1000, "/home/ec2-user")
    assert lab.run() == 1
    assert lab.last()["error"] == "id 1000 belongs to ec2-user here: give user.uid another value"
    assert "useradd" not in commands(lab)


def test_a_home_that_belongs_to_someone_else_is_left_to_them(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.mount()
    home = lab.root / "fsx/ubuntu"
    home.mkdir()
    lab.host.machine.owners[home.stat().st_ino] = (2000, 2000)
    assert lab.run() == 1
    assert lab.last()["error"].endswith("/fsx/ubuntu belongs to 2000:2000, not to 1000:1000")


def test_a_user_with_processes_is_waited_for_and_then_named(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    lab.host.machine.accounts["ubuntu"] = (1000, 1000, "/home/ubuntu")
    lab.host.machine.broken["usermod"] = Result(8, "", "usermod: user ubuntu is currently used by process 9")
    assert lab.run() == 1
    assert lab.last()["error"].startswith("waited 30 s for the home of ubuntu to change: ")
    assert "currently used by process 9" in lab.last()["error"]


def test_keys_are_made_once_for_all_nodes_at_once(make_lab: MakeLab, tmp_path: Path) -> None:
    labs = [make_lab(address) for address in (CONTROLLER, LOGIN, WORKER)]
    shared = tmp_path / "shared"
    shared.mkdir()
    for lab in labs:
        lab.host.machine.mount()
        (lab.root / "fsx").rmdir()
        (lab.root / "fsx").symlink_to(shared)
        lab.host.machine.accounts["ubuntu"] = (1000, 1000, "/fsx/ubuntu")
        user.apply(lab.host, lab.node())
    with ThreadPoolExecutor(len(labs)) as pool:
        list(pool.map(lambda lab: ssh.apply(lab.host, lab.node()), labs))
    assert [ssh.check(lab.host, lab.node()) for lab in labs] == [None, None, None]
    files = {path.name for path in (shared / "ubuntu/.ssh").iterdir()}
    assert files == {"id_ed25519", "id_ed25519.pub", "authorized_keys"}
    public = (shared / "ubuntu/.ssh/id_ed25519.pub").read_text()
    assert (shared / "ubuntu/.ssh/authorized_keys").read_text() == public


def test_a_node_that_was_second_keeps_the_first_ones_key(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    key = lab.root / "fsx/ubuntu/.ssh/id_ed25519"
    first = key.read_text()
    ssh._publish_new_key(lab.host, key.parent, "ubuntu:ubuntu")
    assert key.read_text() == first
    assert {path.name for path in key.parent.iterdir()} == {"id_ed25519", "id_ed25519.pub", "authorized_keys"}


def test_keys_a_user_authorized_stay(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    authorized = lab.root / "fsx/ubuntu/.ssh/authorized_keys"
    authorized.write_text("ssh-ed25519 theirs laptop\n")
    assert lab.run() == 0
    assert lab.results()["60-ssh"] == "applied"
    assert authorized.read_text().splitlines()[0] == "ssh-ed25519 theirs laptop"
    assert len(authorized.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "mode"),
    [("", 0o755), ("id_ed25519", 0o644), ("id_ed25519.pub", 0o600), ("authorized_keys", 0o666)],
)
def test_modes_are_put_right(make_lab: MakeLab, name: str, mode: int) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    path = lab.root / "fsx/ubuntu/.ssh" / name
    wanted = path.stat().st_mode
    path.chmod(mode)
    assert lab.run() == 0
    assert lab.results()["60-ssh"] == "applied"
    assert path.stat().st_mode == wanted


def test_a_public_key_of_another_pair_is_replaced(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    public = lab.root / "fsx/ubuntu/.ssh/id_ed25519.pub"
    wanted = public.read_text()
    public.write_text("ssh-ed25519 other\n")
    assert lab.run() == 0
    assert public.read_text() == wanted


@pytest.mark.parametrize("name", ["", "id_ed25519", "id_ed25519.pub", "authorized_keys"])
def test_root_follows_no_link_of_the_users(make_lab: MakeLab, tmp_path: Path, name: str) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    theirs, victim = lab.root / "fsx/ubuntu/.ssh" / name, tmp_path / "victim"
    theirs.rename(tmp_path / "away")
    victim.mkdir() if name == "" else victim.write_text("root's own")
    victim.chmod(0o777 if name == "" else 0o666)
    theirs.symlink_to(victim)
    before = victim.stat()
    assert lab.run() == 1
    assert lab.last()["error"].endswith("put the file itself in its place")
    after = victim.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ino) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ino,
    )
    assert victim.stat().st_ino not in lab.host.machine.owners
