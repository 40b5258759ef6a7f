"""FSx: retried, proven, persistent, and nothing is ever written below an unmounted path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import CONTROLLER, SOURCE, WORKER
from unbroken_node import mounts
from unbroken_node.errors import NodeError
from unbroken_node.host import Result


def mount_calls(lab: Lab) -> int:
    return sum(call[0] == "mount" for call in lab.host.machine.calls)


def below_the_mount_point(lab: Lab) -> list[Path]:
    return list((lab.root / "fsx").rglob("*"))


def test_a_mount_that_comes_late_is_retried(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.mounts_after = 4
    assert lab.run() == 0
    assert mount_calls(lab) == 4


def test_a_mount_that_never_comes_fails_by_a_deadline_with_its_last_words(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.mounts_after = 10_000
    assert lab.run() == 1
    assert lab.last()["step"] == "30-storage"
    error = lab.last()["error"]
    assert error.startswith(f"waited 180 s for {SOURCE} at /fsx: `mount -t lustre")
    assert error.endswith("ended with 5: mount.lustre: mount " + SOURCE + " at /fsx failed: Network is down")
    assert below_the_mount_point(lab) == [], "written to the node's own disk"


def test_a_mount_that_only_says_it_worked_is_not_believed(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.mounts_after = 0  # ends well, mounts nothing
    assert lab.run() == 1
    assert lab.last()["error"].endswith("mount ended well, but the mount table does not show it")
    assert below_the_mount_point(lab) == []


def test_another_file_system_at_the_path_is_refused(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.mount("fs-9999@tcp:/other")
    assert lab.run() == 1
    assert lab.last()["error"] == f"fs-9999@tcp:/other is mounted at /fsx, not {SOURCE}"
    assert below_the_mount_point(lab) == []
    assert mount_calls(lab) == 0


def test_lustre_may_show_the_servers_address_in_the_mount_table(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.mount("10.0.200.7@tcp:/abcd1234")
    assert lab.run() == 0
    assert mount_calls(lab) == 0


def test_only_the_topmost_mount_counts(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.mount()
    lab.host.machine.mount("tmpfs", "tmpfs")
    assert mounts.source_of(lab.host, "/fsx") == "tmpfs"


def test_blanks_in_the_mount_table_are_octal(make_lab: MakeLab) -> None:
    lab = make_lab()
    (lab.root / "proc/self/mounts").write_text("a\\040b /mnt/c\\040d ext4 rw 0 0\n")
    assert mounts.source_of(lab.host, "/mnt/c d") == "a b"


def test_a_read_only_file_system_fails_the_write_test(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.mount()
    # A folder in the probe's place is what a test can make unwritable, also for root.
    (lab.root / "fsx/.unbroken-write-test-controller-machine-1").mkdir()
    assert lab.run() == 1
    assert "/fsx is mounted but cannot be written: Is a directory" in lab.last()["error"]


def test_the_write_test_leaves_nothing(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    assert not list((lab.root / "fsx").glob(".unbroken*"))


def test_a_mount_that_went_away_is_made_again(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    (lab.root / "proc/self/mounts").write_text("/dev/root / ext4 rw 0 0\n")
    lab.host.machine.mounts_after = 1
    assert lab.run() == 0
    assert lab.results()["30-storage"] == "applied"
    assert mounts.source_of(lab.host, "/fsx") == SOURCE


def test_the_mount_comes_back_at_a_boot(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    assert "fsx.mount" in lab.host.machine.enabled
    lab.host.machine.enabled.discard("fsx.mount")
    assert lab.run() == 0
    assert lab.results()["30-storage"] == "applied"


@pytest.mark.parametrize("step", ["50-user", "60-ssh", "90-training"])
def test_every_step_that_writes_refuses_an_unmounted_path(make_lab: MakeLab, step: str) -> None:
    from unbroken_node.steps import STEPS

    lab = make_lab(CONTROLLER)
    node = lab.node()
    (lab.root / "fsx").mkdir()
    chosen = next(s for s in STEPS if s.name == step)
    lab.host.machine.accounts["ubuntu"] = (1000, 1000, "/fsx/ubuntu")
    with pytest.raises(NodeError, match=r"refusing to write /fsx/.*: nothing is mounted at /fsx"):
        chosen.apply(lab.host, node)
    assert chosen.check(lab.host, node) is not None
    assert below_the_mount_point(lab) == []


def test_the_guard_refuses_paths_elsewhere(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.mount()
    with pytest.raises(NodeError, match="/home/x is on no file system of the cluster"):
        mounts.shared(lab.host, lab.node(), "/home/x")


def test_a_network_that_never_comes_is_named(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.names.clear()
    assert lab.run() == 1
    assert lab.last()["error"].startswith("waited 120 s for the network: fs-0123.fsx")
    lab.host.machine.route = ""
    assert lab.run() == 1
    assert lab.last()["error"].endswith("the node has no default route")


def test_a_network_that_comes_late_is_waited_for(make_lab: MakeLab) -> None:
    lab = make_lab()
    names, slept = set(lab.host.names), []
    lab.host.names.clear()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        lab.host.names |= names if len(slept) == 3 else set()
        lab.host.clock += seconds

    lab.host.sleep = sleep  # type: ignore[method-assign]  # a fake in its place
    assert lab.run() == 0
    assert len(slept) == 3


def test_nvme_is_opened_to_all_users_where_there_is_any(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    nvme = lab.root / "opt/dlami/nvme"
    nvme.mkdir(parents=True, mode=0o700)
    assert lab.run() == 0
    assert nvme.stat().st_mode & 0o7777 == 0o1777
    assert "unbroken-nvme.service" in lab.host.machine.enabled


def test_without_nvme_nothing_is_made(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    assert not (lab.root / "opt/dlami").exists()
    assert lab.results()["40-nvme"] == "skipped"


def test_a_program_that_fails_is_quoted(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.broken["systemd-escape"] = Result(1, "", "first\nsecond\n")
    assert lab.run() == 1
    assert lab.last()["error"] == ("`systemd-escape --path --suffix=mount /fsx` ended with 1: first / second")
