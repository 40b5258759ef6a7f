"""What differs between templates, and which replacements follow from which changes."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from unbroken.ops.diff import file_systems
from unbroken.ops.diff.changes import Change, Versions
from unbroken.ops.diff.plan import compare

GOLDEN = Path(__file__).resolve().parents[3] / "synth" / "golden" / "mathstral"
AREAS = ("network", "storage", "identity", "cluster")
Templates = dict[str, dict[str, Any]]


@pytest.fixture
def deployed() -> Templates:
    """The templates of the example's cluster."""
    return {area: json.loads((GOLDEN / f"{area}.json").read_text()) for area in AREAS}


def plan(old: Templates, new: Templates) -> dict[str, Change]:
    names = {f"ml-cluster-{area}": area for area in AREAS}
    return {change.logical_id: change for change in compare(Versions(old, new, names))}


def resource(templates: Templates, area: str, type_name: str) -> tuple[str, dict[str, Any]]:
    [found] = [
        (name, body) for name, body in templates[area]["Resources"].items() if body["Type"] == type_name
    ]
    return found


def test_the_same_templates_differ_in_nothing(deployed: Templates) -> None:
    assert plan(deployed, copy.deepcopy(deployed)) == {}


def test_another_zone_replaces_subnet_file_system_and_cluster(deployed: Templates) -> None:
    new = copy.deepcopy(deployed)
    new["network"]["Resources"]["PrivateSubnet"]["Properties"]["AvailabilityZoneId"] = "usw2-az2"
    found = plan(deployed, new)
    file_system, _ = resource(deployed, "storage", "AWS::FSx::FileSystem")
    link, _ = resource(deployed, "storage", "AWS::FSx::DataRepositoryAssociation")
    assert found["PrivateSubnet"].properties == ("AvailabilityZoneId",)
    assert (found[file_system].action, found[file_system].properties) == ("replace", ("SubnetIds",))
    assert found[file_system].old_stays
    assert (found[link].action, found[link].properties) == ("replace", ("FileSystemId",))
    assert (found["Cluster"].action, found["Cluster"].properties) == ("replace", ("VpcConfig",))
    assert "DataBucket" not in str(found)


def test_data_is_lost_unless_both_versions_keep_it(deployed: Templates) -> None:
    new = copy.deepcopy(deployed)
    name, body = resource(new, "storage", "AWS::FSx::FileSystem")
    body["Properties"]["LustreConfiguration"]["DeploymentType"] = "SCRATCH_2"
    assert plan(deployed, new)[name].old_stays
    body["UpdateReplacePolicy"] = "Delete"
    change = plan(deployed, new)[name]
    assert (change.action, change.old_stays) == ("replace", False)
    assert change.properties == ("LustreConfiguration.DeploymentType",)


def test_a_larger_file_system_is_changed_in_place(deployed: Templates) -> None:
    new = copy.deepcopy(deployed)
    name, body = resource(new, "storage", "AWS::FSx::FileSystem")
    body["Properties"]["StorageCapacity"] = 2400
    assert (plan(deployed, new)[name].action, plan(deployed, new)[name].properties) == (
        "change",
        ("StorageCapacity",),
    )


@pytest.mark.parametrize(
    ("wanted", "lustre", "said"),
    [
        (2400, {}, []),
        (1200, {}, []),
        (600, {}, ["the file system FileSystem (storage) would shrink from 1200 to 600 GiB"]),
        (1200, {"EfaEnabled": True}, ["the file system FileSystem (storage) would be with EFA"]),
        (600, {"DeploymentType": "PERSISTENT_1"}, []),  # a new one may have any size
    ],
)
def test_what_fsx_does_not_change_is_told_before(
    deployed: Templates, wanted: int, lustre: dict[str, Any], said: list[str]
) -> None:
    new = copy.deepcopy(deployed)
    _, body = resource(new, "storage", "AWS::FSx::FileSystem")
    body["Properties"]["StorageCapacity"] = wanted
    body["Properties"]["LustreConfiguration"] |= lustre
    versions = Versions(deployed, new, {f"ml-cluster-{area}": area for area in AREAS})
    assert [what for what, _, _ in file_systems.refused(versions, compare(versions))] == said


def test_a_removed_resource_stays_as_its_deployed_policy_says(deployed: Templates) -> None:
    new = copy.deepcopy(deployed)
    name, _ = resource(new, "storage", "AWS::FSx::FileSystem")
    del new["storage"]["Resources"][name]
    assert (plan(deployed, new)[name].action, plan(deployed, new)[name].old_stays) == ("remove", True)
    deployed["storage"]["Resources"][name]["DeletionPolicy"] = "Delete"
    assert not plan(deployed, new)[name].old_stays


def test_a_stack_that_is_no_longer_asked_for_is_left_alone(deployed: Templates) -> None:
    new = {area: template for area, template in deployed.items() if area != "cluster"}
    assert plan(deployed, new) == {}


def test_another_type_under_the_same_id_is_removed_and_added(deployed: Templates) -> None:
    new = copy.deepcopy(deployed)
    new["network"]["Resources"]["PrivateSubnet"] = {"Type": "AWS::EC2::VPC", "Properties": {}}
    old_templates = {"network": deployed["network"]}
    changes = compare(Versions(old_templates, {"network": new["network"]}))
    assert [(c.action, c.type_name) for c in changes if c.logical_id == "PrivateSubnet"] == [
        ("add", "AWS::EC2::VPC"),
        ("remove", "AWS::EC2::Subnet"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"Ref": "A"},
        {"Fn::GetAtt": ["A", "Arn"]},
        {"Fn::GetAtt": "A.Arn"},
        {"Fn::Sub": "x-${A}"},
        {"Fn::Sub": ["${A.Arn}", {}]},
        {"Fn::Join": ["", ["x", {"Ref": "A"}]]},
        [{"Ref": "A"}],
    ],
)
def test_every_form_of_reference_is_followed(value: Any) -> None:
    def template(cidr: str) -> dict[str, Any]:
        vpc = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": cidr}}
        subnet = {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": value}}
        return {"Resources": {"A": vpc, "B": subnet, "C": {"Type": "AWS::EC2::Subnet", "Properties": {}}}}

    found = compare(Versions({"n": template("10.0.0.0/16")}, {"n": template("10.1.0.0/16")}))
    assert [(change.logical_id, change.action) for change in found] == [("A", "replace"), ("B", "replace")]


def test_a_type_of_which_nothing_is_known_is_an_error() -> None:
    def template(text: str) -> dict[str, Any]:
        return {"n": {"Resources": {"A": {"Type": "AWS::New::Thing", "Properties": {"X": text}}}}}

    with pytest.raises(KeyError, match="AWS::New::Thing"):
        compare(Versions(template("a"), template("b")))


def test_a_whole_section_that_is_given_or_taken_away_replaces_for_what_it_holds(deployed: Templates) -> None:
    new = copy.deepcopy(deployed)
    _, body = resource(new, "storage", "AWS::FSx::FileSystem")
    del body["Properties"]["LustreConfiguration"]
    change = plan(deployed, new)["FileSystem"]
    assert change.action == "replace"
    assert "LustreConfiguration" in change.properties
