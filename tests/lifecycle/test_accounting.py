"""MariaDB, slurmdbd and slurmctld on the controller: the order, and where the password may never be."""

from __future__ import annotations

from pathlib import Path

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import CONTROLLER
from unbroken_node.host import Result

PASSWORD = "etc/unbroken/slurmdbd.password"  # noqa: S105 (a path)
SLURMDBD_CONF = "opt/slurm/etc/slurmdbd.conf"


def started(lab: Lab) -> list[str]:
    calls = lab.host.machine.calls
    return [call[-1] for call in calls if call[:3] == ("systemctl", "enable", "--now")]


def password(lab: Lab) -> str:
    return (lab.root / PASSWORD).read_text().strip()


def test_daemons_start_in_the_order_in_which_they_need_one_another(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    assert started(lab)[:3] == ["mariadb.service", "slurmdbd.service", "slurmctld.service"]


def test_the_cluster_is_registered_once_under_slurm_confs_name(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0 and lab.run() == 0
    assert lab.host.machine.clusters == ["ml"]


def test_the_password_is_in_two_private_files_and_nowhere_else(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    secret = password(lab)
    assert len(secret) == 48
    holders = [
        p for p in lab.root.rglob("*") if p.is_file() and not p.is_symlink() and secret in p.read_text()
    ]
    assert {p.relative_to(lab.root).as_posix() for p in holders} == {PASSWORD, SLURMDBD_CONF}
    assert [p.stat().st_mode & 0o7777 for p in holders] == [0o600, 0o600]
    assert lab.host.owner_names("/" + SLURMDBD_CONF) == "slurm:slurm"
    assert lab.host.owner_names("/" + PASSWORD) == "root:root"
    assert not [call for call in lab.host.machine.calls if any(secret in word for word in call)], "in argv"
    assert secret not in lab.text, "in the log"
    assert any(secret in statement for statement in lab.host.machine.sql), "the client reads it on stdin"


def test_an_error_that_repeats_the_statement_does_not_show_the_password(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    secret = password(lab)
    (lab.root / SLURMDBD_CONF).unlink()
    words = f"ERROR 1064 (42000): near 'IDENTIFIED BY '{secret}''"
    lab.host.machine.broken["mysql"] = Result(1, "", words)
    assert lab.run() == 1
    assert "near 'IDENTIFIED BY '[secret]''" in lab.last()["error"]
    assert secret not in lab.text


def test_the_password_survives_another_run_and_a_lost_one_is_replaced(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    first = password(lab)
    (lab.root / SLURMDBD_CONF).unlink()
    assert lab.run() == 0
    assert password(lab) == first
    (lab.root / PASSWORD).unlink()  # as on a fresh root with a database that survived
    assert lab.run() == 0
    assert password(lab) != first
    assert f"ALTER USER 'slurm'@'localhost' IDENTIFIED BY '{password(lab)}'" in lab.host.machine.sql[-1]
    assert password(lab) in (lab.root / SLURMDBD_CONF).read_text()


def test_a_password_that_others_could_read_is_replaced(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    first = password(lab)
    (lab.root / PASSWORD).chmod(0o644)
    assert lab.run() == 0
    assert password(lab) != first
    assert (lab.root / PASSWORD).stat().st_mode & 0o7777 == 0o600
    assert password(lab) in (lab.root / SLURMDBD_CONF).read_text()


def test_a_config_that_others_can_read_is_caught_and_closed(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    (lab.root / SLURMDBD_CONF).chmod(0o640)
    assert lab.run() == 0
    assert lab.results()["70-accounting"] == "applied"
    assert (lab.root / SLURMDBD_CONF).stat().st_mode & 0o7777 == 0o600


def test_a_config_of_the_wrong_owner_is_caught(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    lab.host.machine.owners[(lab.root / SLURMDBD_CONF).stat().st_ino] = (0, 0)
    assert lab.run() == 0
    assert lab.results()["70-accounting"] == "applied"
    assert lab.host.owner_names("/" + SLURMDBD_CONF) == "slurm:slurm"


def test_nothing_names_localhost_that_other_nodes_read(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    text = (lab.root / "opt/slurm/etc/accounting.conf").read_text()
    assert f"AccountingStorageHost={CONTROLLER}\n" in text
    assert "localhost" not in text and "127.0.0.1" not in text


def test_a_running_slurmctld_is_restarted_only_when_accounting_changed(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0 and lab.run() == 0
    restarts = [call for call in lab.host.machine.calls if call[:2] == ("systemctl", "restart")]
    assert restarts == []
    (lab.root / "opt/slurm/etc/accounting.conf").write_text("")
    assert lab.run() == 0
    assert ("systemctl", "restart", "slurmctld.service") in lab.host.machine.calls


def test_a_slurm_conf_that_never_comes_is_named(make_lab: MakeLab) -> None:
    lab = make_lab()
    (lab.root / "opt/slurm/etc/slurm.conf").unlink()
    assert lab.run() == 1
    assert lab.last()["error"] == (
        "waited 60 s for /opt/slurm/etc/slurm.conf, which HyperPod's cluster agent writes"
    )


def test_a_slurm_conf_without_a_cluster_is_refused(make_lab: MakeLab) -> None:
    lab = make_lab()
    (lab.root / "opt/slurm/etc/slurm.conf").write_text("SlurmctldHost=x\n")
    assert lab.run() == 1
    assert "/opt/slurm/etc/slurm.conf has no ClusterName" in lab.last()["error"]


def test_a_slurmdbd_that_never_answers_is_named_with_its_last_words(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.broken["sacctmgr"] = Result(1, "", "Connection refused")
    (lab.root / "var/log/slurm/slurmdbd.log").write_text("old\nfatal: cannot connect to the database\n")
    assert lab.run() == 1
    error = lab.last()["error"]
    assert error.startswith("waited 90 s for slurmdbd to answer; slurmdbd.service said: ")
    assert error.endswith("/var/log/slurm/slurmdbd.log ends: old / fatal: cannot connect to the database")


def test_a_unit_that_does_not_start_is_named_with_its_last_words(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.broken["mysqladmin"] = Result(1, "", "Can't connect")
    assert lab.run() == 1
    assert lab.last()["error"].startswith("waited 60 s for MariaDB to answer")


def test_slurmd_cannot_be_started_on_the_controller(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    units = lab.root / "etc/systemd/system"
    assert units.joinpath("slurmd.service").readlink() == Path("/dev/null")
    assert (
        "rm -f /opt/slurm/etc/slurm.conf" in (units / "slurmd_DO_NOT_START_ON_CONTROLLER.service").read_text()
    )
    units.joinpath("slurmd.service").unlink()
    assert lab.run() == 0
    assert lab.results()["80-slurmctld"] == "applied"


def test_a_running_slurmd_on_the_controller_is_an_error(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.active.add("slurmd.service")
    assert lab.run() == 1
    assert lab.last()["error"].startswith(
        "slurmd runs on the controller, where starting it deletes slurm.conf"
    )


def test_a_slurmctld_that_never_answers_is_named(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.broken["scontrol"] = Result(1, "", "is DOWN")
    assert lab.run() == 1
    assert lab.last()["step"] == "80-slurmctld"
    assert lab.last()["error"].startswith("waited 60 s for slurmctld to answer; slurmctld.service said")
