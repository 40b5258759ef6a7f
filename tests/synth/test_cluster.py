"""The cluster template: the groups of the cluster file, and values of other stacks asked for once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.synth.api_model import complaints
from tests.synth.build import EXAMPLES, Synth, synth
from unbroken import config

KINDS = ["mathstral", "largest", "everything"]
LOOKUPS_REFUSED = 75
"""So many of one template were refused for asking too often (aws-cdk issue 38010)."""


def cluster(synth: Synth) -> dict[str, Any]:
    found: dict[str, Any] = synth.one("cluster", "AWS::SageMaker::Cluster")["Properties"]
    return found


def groups(synth: Synth) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster(synth)["InstanceGroups"]
    return found


def test_every_property_exists_in_the_api(example: Synth) -> None:
    assert complaints("sagemaker", "CreateCluster", cluster(example)) == ""


@pytest.mark.parametrize(
    "change", [{"NodeRecover": "None"}, {"NodeRecovery": 1}, {"InstanceGroups": [{"InstanceCount": 1}]}]
)
def test_one_that_does_not_is_found(change: dict[str, Any], mathstral: Synth) -> None:
    assert complaints("sagemaker", "CreateCluster", cluster(mathstral) | change)


def test_the_groups_are_the_cluster_files(mathstral: Synth) -> None:
    assert [
        (group["InstanceGroupName"], group["InstanceType"], group["InstanceCount"])
        for group in groups(mathstral)
    ] == [("controller-machine", "ml.m5.12xlarge", 1), ("worker-group-1", "ml.p4de.24xlarge", 4)]
    volumes = [group.get("InstanceStorageConfigs") for group in groups(mathstral)]
    assert volumes == [[{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}], None]


def test_threads_per_core_is_always_said(example: Synth) -> None:
    assert {group["ThreadsPerCore"] for group in groups(example)} <= {1, 2}


@pytest.mark.parametrize(("kind", "recovery"), [("mathstral", "Automatic"), ("largest", "None")])
def test_node_recovery(kind: str, recovery: str, request: pytest.FixtureRequest) -> None:
    synth: Synth = request.getfixturevalue(kind)
    assert cluster(synth)["NodeRecovery"] == recovery
    assert "Orchestrator" not in cluster(synth)  # HyperPod learns of Slurm from provisioning_parameters.json


def test_in_api_mode_the_file_systems_are_those_of_the_storage_stack(everything: Synth) -> None:
    resources = everything.template("cluster")["Resources"]
    outputs = everything.template("storage")["Outputs"]

    def behind(value: dict[str, Any]) -> Any:
        """What a value comes from, in the storage stack's own words."""
        output = resources[value["Fn::GetAtt"][0]]["Properties"]["Value"]["Fn::GetStackOutput"]
        assert output["StackName"] == "ml-everything-storage"
        return outputs[output["OutputName"]]["Value"]

    for group in groups(everything):
        mounts = {key: value for item in group["InstanceStorageConfigs"] for key, value in item.items()}
        assert behind(mounts["FsxLustreConfig"]["DnsName"]) == outputs["FileSystemDnsName"]["Value"]
        assert behind(mounts["FsxLustreConfig"]["MountName"]) == outputs["FileSystemMountName"]["Value"]
        assert behind(mounts["FsxOpenZfsConfig"]["DnsName"]) == outputs["HomeDnsName"]["Value"]
        assert len(group["InstanceStorageConfigs"]) <= 4


def test_spot_is_an_empty_object_that_stays(everything: Synth) -> None:
    asked = {group["InstanceGroupName"]: group.get("CapacityRequirements") for group in groups(everything)}
    assert asked["spot"] == {"Spot": {}}
    assert [name for name, value in asked.items() if value] == ["spot"]


def test_a_group_elsewhere_is_in_its_own_subnet(everything: Synth) -> None:
    by_name = {group["InstanceGroupName"]: group for group in groups(everything)}
    network = cluster(everything)["VpcConfig"]
    override = by_name["spot"]["OverrideVpcConfig"]
    assert override["SecurityGroupIds"] == network["SecurityGroupIds"]
    assert override["Subnets"] != network["Subnets"]
    assert "OverrideVpcConfig" not in by_name["p5"]


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_other_stacks_are_asked_for_a_few_times_only(
    kind: str, request: pytest.FixtureRequest
) -> None:
    text = json.dumps(request.getfixturevalue(kind).template("cluster"))
    assert text.count("Fn::GetStackOutput") < LOOKUPS_REFUSED // 3


def test_nothing_that_is_known_is_looked_up(brought: Synth) -> None:
    assert "Fn::GetStackOutput" not in json.dumps(brought.template("cluster"))
    assert brought.resources("cluster", "AWS::SSM::Parameter") == {}
    assert groups(brought)[0]["ExecutionRole"] == "arn:aws:iam::111122223333:role/HyperPodNodes"


def test_it_comes_after_all_it_stands_on_whether_it_names_them_or_not(example: Synth) -> None:
    needed = set(example.artifacts[f"{example.config.name}-cluster"]["dependencies"])
    assert {f"{example.config.name}-{area}" for area in ("network", "storage", "identity")} <= needed


def test_moving_groups_in_the_file_changes_no_cluster(tmp_path: Path) -> None:
    loaded = config.load(EXAMPLES["everything"])
    first = synth(loaded, tmp_path / "first")
    workers = loaded.worker_groups[::-1]
    moved = loaded.model_copy(update={"worker_groups": workers, "login_groups": loaded.login_groups[::-1]})
    again = synth(moved, tmp_path / "again")
    assert without_hashes(cluster(first)) == without_hashes(cluster(again))
    other = loaded.model_copy(update={"worker_groups": workers[1:]})
    assert without_hashes(cluster(first)) != without_hashes(cluster(synth(other, tmp_path / "other")))


def without_hashes(body: dict[str, Any]) -> str:
    """The properties without the bundle's hash, which follows node.json."""
    return re.sub(r"lifecycle/[0-9a-f]{16}/", "lifecycle/<hash>/", json.dumps(body))


def test_outputs_say_where_the_bundle_is(mathstral: Synth) -> None:
    uri = mathstral.template("cluster")["Outputs"]["LifecycleUri"]["Value"]
    assert uri == groups(mathstral)[0]["LifeCycleConfig"]["SourceS3Uri"]
