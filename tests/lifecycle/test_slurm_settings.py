"""Slurm's settings that are the cluster file's: put into the agent's files and kept; PAM on compute nodes."""

from __future__ import annotations

import json

import pytest

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import CONTROLLER, LOGIN, SLURM_CONF, WORKER
from unbroken_node import slurm, slurm_settings
from unbroken_node.main import keep_slurm_conf

CONF, CGROUP = "opt/slurm/etc/slurm.conf", "opt/slurm/etc/cgroup.conf"
AGENTS = SLURM_CONF + "TaskPlugin=task/none\n"
SSHD = "auth required pam_nologin.so\n@include common-account\n@include common-session\n"


def chosen(make_lab: MakeLab, address: str, **slurm_section: object) -> Lab:
    lab = make_lab(address)
    node = json.loads((lab.bundle / "node.json").read_text())
    node["slurm"].update(slurm_section)
    (lab.bundle / "node.json").write_text(json.dumps(node))
    if address == CONTROLLER:
        (lab.root / CONF).write_text(AGENTS)
        (lab.root / CGROUP).write_text("CgroupPlugin=cgroup/v1\n")
    (lab.root / "etc/pam.d").mkdir()
    (lab.root / "etc/pam.d/sshd").write_text(SSHD)
    session = "session required pam_unix.so\nsession optional pam_systemd.so\n"
    (lab.root / "etc/pam.d/common-session").write_text(session)
    return lab


def module(lab: Lab) -> None:
    folder = lab.root / "lib/x86_64-linux-gnu/security"
    folder.mkdir(parents=True)
    (folder / "pam_slurm_adopt.so").touch()


def test_with_hyperpods_own_settings_nothing_is_touched(make_lab: MakeLab) -> None:
    lab = chosen(make_lab, CONTROLLER)
    assert lab.run() == 0 and "75-slurm-conf" not in lab.results()
    assert (lab.root / CONF).read_text() == AGENTS


def test_the_task_plugin_takes_the_place_of_the_agents(make_lab: MakeLab) -> None:
    lab = chosen(make_lab, CONTROLLER, task_plugin="task/affinity,task/cgroup")
    assert lab.run() == 0, lab.text
    text = (lab.root / CONF).read_text()
    assert text.count("TaskPlugin=") == 1 and slurm.setting(text, "TaskPlugin") == "task/affinity,task/cgroup"
    assert text.startswith("ClusterName=ml\n") and "PrologFlags" not in text
    assert (lab.root / CGROUP).read_text().endswith("ConstrainRAMSpace=yes\n")
    assert lab.run() == 0 and lab.results()["75-slurm-conf"] == "skipped"
    assert "75-slurm-conf" not in chosen(make_lab, WORKER, task_plugin="task/affinity").results()


def test_what_the_agent_writes_anew_is_put_right(make_lab: MakeLab) -> None:
    lab = chosen(make_lab, CONTROLLER, task_plugin="task/affinity", pam_slurm_adopt=True)
    assert lab.run() == 0
    right = (lab.root / CONF).read_text()
    assert slurm.setting(right, "PrologFlags") == "Contain"
    before = lab.host.machine.reconfigured
    (lab.root / CONF).write_text(AGENTS)
    assert keep_slurm_conf(lab.bundle, lab.host) == 0
    assert (lab.root / CONF).read_text() == right and lab.host.machine.reconfigured == before + 1
    assert keep_slurm_conf(lab.bundle, lab.host) == 0
    assert lab.host.machine.reconfigured == before + 1, "nothing changed, so nobody is told"


def test_the_files_are_watched_from_now_on_and_after_a_boot(make_lab: MakeLab) -> None:
    lab = chosen(make_lab, CONTROLLER, task_plugin="task/affinity")
    assert lab.run() == 0
    units = lab.root / "etc/systemd/system"
    watch = (units / slurm_settings.PATH_UNIT).read_text()
    assert (
        "PathChanged=/opt/slurm/etc/slurm.conf\n" in watch
        and "PathChanged=/opt/slurm/etc/cgroup.conf" in watch
    )
    assert "/opt/unbroken/current keep-slurm-conf\n" in (units / slurm_settings.SERVICE).read_text()
    assert slurm_settings.PATH_UNIT in lab.host.machine.active & lab.host.machine.enabled


def test_a_conf_that_cannot_be_read_ends_with_its_reason(
    make_lab: MakeLab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = chosen(make_lab, CONTROLLER, task_plugin="task/affinity")
    (lab.bundle / "node.json").write_text("{")
    assert keep_slurm_conf(lab.bundle, lab.host) == 2
    assert capsys.readouterr().err.startswith("node.json: found text that is not JSON")


def test_compute_nodes_ask_slurm_who_may_log_in(make_lab: MakeLab) -> None:
    lab = chosen(make_lab, WORKER, pam_slurm_adopt=True)
    module(lab)
    assert lab.run() == 0, lab.text
    rule = "account    required     /lib/x86_64-linux-gnu/security/pam_slurm_adopt.so\n"
    assert (lab.root / "etc/pam.d/sshd").read_text() == SSHD + rule
    assert "# session optional pam_systemd.so\n" in (lab.root / "etc/pam.d/common-session").read_text()
    assert lab.run() == 0 and lab.results()["88-pam"] == "skipped"


@pytest.mark.parametrize("address", [CONTROLLER, LOGIN])
def test_other_nodes_let_everybody_in(make_lab: MakeLab, address: str) -> None:
    lab = chosen(make_lab, address, pam_slurm_adopt=True)
    assert lab.run() == 0, lab.text
    assert (lab.root / "etc/pam.d/sshd").read_text() == SSHD


def test_an_image_without_the_module_is_refused_and_sshd_left_alone(make_lab: MakeLab) -> None:
    lab = chosen(make_lab, WORKER, pam_slurm_adopt=True)
    assert lab.run() == 1
    assert lab.last()["error"].startswith("pam_slurm_adopt.so is not on this image: install")
    assert (lab.root / "etc/pam.d/sshd").read_text() == SSHD
