"""The service's files as the agent reads them."""

from __future__ import annotations

import json
from pathlib import Path

from cluster_agent import cluster_config
from cluster_agent.cluster_config import Node, Shape, node_name, parse
from cluster_agent.main import is_controller
from tests.rehearsal.agents.samples import AGENT, PROVISIONING, RESOURCES


def test_names_come_from_addresses() -> None:
    assert node_name("10.1.2.7") == "ip-10-1-2-7"


def test_nodes_and_roles() -> None:
    cluster = parse(RESOURCES, PROVISIONING, AGENT)
    assert cluster.controller() == Node(
        "ip-10-1-2-10", "10.1.2.10", f"i-{10:017x}", "controller-machine", "ml.m5.12xlarge"
    )
    names = [node.name for node in cluster.slurm_nodes()]
    assert names == ["ip-10-1-2-20", "ip-10-1-2-3", "ip-10-1-2-104", "ip-10-1-2-7"]
    assert is_controller(cluster, "10.1.2.10")
    assert not is_controller(cluster, "10.1.2.3")
    assert not is_controller(cluster, "10.9.9.9")


def test_login_nodes_can_be_left_out() -> None:
    cluster = parse(RESOURCES, PROVISIONING, {"Emulator": {"LoginNodesInSlurm": False}})
    assert "login-group" not in {node.group for node in cluster.slurm_nodes()}


def test_every_login_group_the_service_tells_is_one() -> None:
    cluster = parse(RESOURCES, PROVISIONING, {"Emulator": {"LoginGroups": ["login-group", "worker-group-2"]}})
    assert cluster.login_groups == ("login-group", "worker-group-2")
    left_out = parse(
        RESOURCES,
        PROVISIONING,
        {"Emulator": {"LoginGroups": ["login-group", "worker-group-2"], "LoginNodesInSlurm": False}},
    )
    assert {node.group for node in left_out.slurm_nodes()} == {"worker-group-1"}


def test_what_is_not_said_has_a_default() -> None:
    bare = {"ClusterConfig": {"ClusterName": "b"}, "InstanceGroups": None}
    cluster = parse(bare, {"controller_group": "c"}, {})
    assert (cluster.nodes, cluster.partitions, cluster.node_recovery) == ((), {}, "Automatic")
    assert (cluster.gres, cluster.login_groups, cluster.controller()) == (False, (), None)
    node = Node("n", "a", "i", "g", "unheard-of")
    assert cluster.shape(node) == Shape()


def test_files_that_are_not_all_there_are_waited_for(tmp_path: Path) -> None:
    assert cluster_config.read(tmp_path) is None
    before = cluster_config.stamp(tmp_path)
    (tmp_path / "resource_config.json").write_text(json.dumps(RESOURCES))
    assert cluster_config.read(tmp_path) is None
    (tmp_path / "provisioning_parameters.json").write_text('{"controller_gr')
    assert cluster_config.read(tmp_path) is None
    (tmp_path / "provisioning_parameters.json").write_text(json.dumps(PROVISIONING))
    cluster = cluster_config.read(tmp_path)
    assert cluster is not None and cluster.name == "Bench"
    assert cluster_config.stamp(tmp_path) != before
