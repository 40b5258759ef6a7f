"""Home directories on FSx for OpenZFS: who may mount them, and what a destroy does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.synth.build import Synth, synth
from unbroken.config import ClusterConfig

STAYS = ("RetainExceptOnCreate", "Retain")


def cluster(**values: Any) -> ClusterConfig:
    worker = {"name": "w", "instance_type": "ml.m5.xlarge", "num_instances": 1}
    return ClusterConfig.model_validate({"name": "ml", "worker_groups": [worker]} | values)


def home(synth: Synth) -> dict[str, Any]:
    [found] = [
        body
        for body in synth.resources("storage", "AWS::FSx::FileSystem").values()
        if body["Properties"]["FileSystemType"] == "OPENZFS"
    ]
    return found


def exports(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Who may mount the root volume, and how."""
    volume = body["Properties"]["OpenZFSConfiguration"]["RootVolumeConfiguration"]
    return [client for export in volume["NfsExports"] for client in export["ClientConfigurations"]]


def open_to_all(body: dict[str, Any]) -> bool:
    """Whether anyone could mount it as root."""
    return any(
        client["Clients"] in ("*", "0.0.0.0/0") and "no_root_squash" in client["Options"]
        for client in exports(body)
    )


def test_it_is_the_cluster_files(everything: Synth) -> None:
    properties, wanted = home(everything)["Properties"], everything.config.home
    assert wanted is not None
    assert (properties["StorageCapacity"], properties["StorageType"]) == (wanted.capacity_gib, "SSD")
    configuration = properties["OpenZFSConfiguration"]
    assert configuration["DeploymentType"] == wanted.deployment_type
    assert configuration["ThroughputCapacity"] == wanted.throughput_mbps
    assert configuration["AutomaticBackupRetentionDays"] == wanted.backup_days
    assert configuration["RootVolumeConfiguration"]["DataCompressionType"] == wanted.compression
    assert "KmsKeyId" in properties


def test_only_the_vpc_may_mount_it(everything: Synth) -> None:
    assert exports(home(everything)) == [
        {"Clients": "10.20.0.0/16", "Options": ["rw", "sync", "no_root_squash"]}
    ]
    assert not open_to_all(home(everything))


def test_an_export_to_everybody_would_be_seen(everything: Synth) -> None:
    body = home(everything)
    exports(body)[0]["Clients"] = "*"
    assert open_to_all(body)


def test_it_stands_where_the_shared_file_system_does(everything: Synth) -> None:
    places = {
        (str(body["Properties"]["SubnetIds"]), str(body["Properties"]["SecurityGroupIds"]))
        for body in everything.resources("storage", "AWS::FSx::FileSystem").values()
    }
    assert len(places) == 1


def test_its_end_is_its_own_choice(tmp_path: Path, everything: Synth) -> None:
    kept = home(synth(cluster(home={}, storage={"deletion": "delete"}), tmp_path))
    assert (kept["DeletionPolicy"], kept["UpdateReplacePolicy"]) == STAYS
    assert "Options" not in kept["Properties"]["OpenZFSConfiguration"]
    gone = home(everything)
    assert (gone["DeletionPolicy"], gone["UpdateReplacePolicy"]) == ("Delete", "Delete")
    # People's snapshots do not keep what is to go.
    assert gone["Properties"]["OpenZFSConfiguration"]["Options"] == ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"]


@pytest.mark.parametrize("section", [None, {"existing": None}])
def test_none_is_made_unless_asked_for(section: dict[str, Any] | None, tmp_path: Path) -> None:
    there = {"file_system_id": "fs-0123456789abcdef0", "dns_name": "fs-0123456789abcdef0.fsx.example"}
    asked = {"existing": there} if section else None
    made = synth(cluster(home=asked), tmp_path)
    assert len(made.resources("storage", "AWS::FSx::FileSystem")) == 1
    outputs = made.template("storage")["Outputs"]
    found = {name: outputs[name]["Value"] for name in ("HomeFileSystemId", "HomeDnsName") if name in outputs}
    wanted = {"HomeFileSystemId": there["file_system_id"], "HomeDnsName": there["dns_name"]}
    assert found == (wanted if asked else {})
