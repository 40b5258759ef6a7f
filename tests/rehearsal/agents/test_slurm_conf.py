"""Slurm's configuration files, whole: the golden file is the emulated agent's slurm.conf."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from cluster_agent import conf_files
from cluster_agent.cluster_config import parse
from cluster_agent.slurm_conf import cgroup_conf, gres_conf, plugstack_conf, slurm_conf
from tests.rehearsal.agents.samples import AGENT, PROVISIONING, RESOURCES

GOLDEN = Path(__file__).parent / "golden" / "slurm.conf"
CLUSTER = parse(RESOURCES, PROVISIONING, AGENT)


@pytest.mark.behaviour("HP117")
def test_slurm_conf_as_a_whole() -> None:
    lib = "unbroken/rehearsal/nodes/image/opt/rehearsal/lib"
    accept = f"to accept the new text: PYTHONPATH={lib} python -m {__name__}"
    assert slurm_conf(CLUSTER) == GOLDEN.read_text(), accept


@pytest.mark.behaviour("HP118")
def test_login_nodes_are_in_the_default_partition() -> None:
    assert "NodeName=ip-10-1-2-20 " in slurm_conf(CLUSTER)
    without = slurm_conf(dataclasses.replace(CLUSTER, login_in_slurm=False))
    assert "ip-10-1-2-20" not in without
    assert "PartitionName=dev Nodes=ALL Default=YES" in without


@pytest.mark.behaviour("HP123")
def test_partitions_by_hand_are_kept_with_merge_only(tmp_path: Path) -> None:
    by_hand = "PartitionName=mine Nodes=ALL Default=NO MaxTime=60"
    for keep in (False, True):
        cluster = dataclasses.replace(CLUSTER, keep_partitions=keep)
        conf_files.write_all(cluster, tmp_path)
        with (tmp_path / "slurm.conf").open("a") as edited:
            edited.write(by_hand + "\n")
        conf_files.write_all(cluster, tmp_path)
        text = (tmp_path / "slurm.conf").read_text()
        assert (by_hand in text) == keep
        assert text.count("PartitionName=dev ") == 1 and text.endswith("include accounting.conf\n")


def test_gres_only_where_it_is_wanted_and_there() -> None:
    plain = dataclasses.replace(CLUSTER, gres=False)
    assert "Gres" not in slurm_conf(plain) and gres_conf(plain) == ""
    assert gres_conf(CLUSTER).splitlines() == [
        "NodeName=ip-10-1-2-3 Name=gpu File=/dev/nvidia[0-7]",
        "NodeName=ip-10-1-2-104 Name=gpu File=/dev/nvidia[0-7]",
        "NodeName=ip-10-1-2-7 Name=gpu File=/dev/nvidia0",
    ]


def test_a_cluster_of_a_controller_alone_has_no_partition() -> None:
    alone = dataclasses.replace(CLUSTER, nodes=CLUSTER.nodes[:1])
    assert "PartitionName" not in slurm_conf(alone)


def test_without_a_controller_there_is_nothing_to_write() -> None:
    with pytest.raises(ValueError, match="controller-machine"):
        slurm_conf(dataclasses.replace(CLUSTER, nodes=()))


def test_the_small_files() -> None:
    assert plugstack_conf().startswith("optional /")
    assert "CgroupPlugin=cgroup/v1" in cgroup_conf("v1")
    assert "CgroupPlugin=cgroup/v2" in cgroup_conf("v2")


@pytest.mark.parametrize(
    ("sees", "kernel", "expected", "proctrack"),
    [
        ("freezer", "2:freezer:/\n0::/\n", "v1", "cgroup"),
        ("cgroup.controllers", "0::/\n", "v2", "cgroup"),
        ("cgroup.controllers", "1:name=systemd:/\n0::/\n", "mixed", "linuxproc"),
    ],
)
def test_slurm_tracks_processes_as_the_machine_lets_it(
    tmp_path: Path, sees: str, kernel: str, expected: str, proctrack: str
) -> None:
    (tmp_path / sees).touch()
    (tmp_path / "table").write_text(kernel)
    found = conf_files.cgroup_version(tmp_path / "cgroup.controllers", tmp_path / "table")
    assert found == expected
    assert f"ProctrackType=proctrack/{proctrack}\n" in slurm_conf(CLUSTER, found)
    assert ("CgroupPlugin=cgroup/v2" in cgroup_conf(found)) == (expected == "v2")


def test_writing_says_whether_the_nodes_changed_and_keeps_accounting(tmp_path: Path) -> None:
    assert conf_files.write_all(CLUSTER, tmp_path)
    assert (tmp_path / "gres.conf").exists()
    (tmp_path / "accounting.conf").write_text("AccountingStorageType=accounting_storage/slurmdbd\n")
    with (tmp_path / "slurm.conf").open("a") as edited:
        edited.write("Prolog=/by/hand\n")
    assert not conf_files.write_all(CLUSTER, tmp_path)
    assert (tmp_path / "slurm.conf").read_text() == slurm_conf(CLUSTER, conf_files.cgroup_version())
    assert "slurmdbd" in (tmp_path / "accounting.conf").read_text()
    assert conf_files.write_all(dataclasses.replace(CLUSTER, gres=False), tmp_path)
    assert not (tmp_path / "gres.conf").exists()


if __name__ == "__main__":
    GOLDEN.write_text(slurm_conf(CLUSTER))
