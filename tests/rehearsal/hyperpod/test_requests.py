"""What the service refuses before anything starts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rehearsal.hyperpod.fakes import BUNDLE, PARAMETERS, ROLE, Bench, group, request, resize
from unbroken.rehearsal.hyperpod.errors import ServiceError
from unbroken.rehearsal.hyperpod.machines import Role, SecurityGroup


def refused(bench: Bench, body: dict[str, Any], code: str = "ValidationException") -> str:
    """The message of a refusal; nothing may have been started or kept."""
    before = len(bench.machines.made)
    with pytest.raises(ServiceError) as caught:
        bench.service.create_cluster(body)
    assert caught.value.code == code
    assert not bench.queue and len(bench.machines.made) == before
    return caught.value.message


@pytest.mark.behaviour("HP001")
def test_every_violation_of_the_model_is_told() -> None:
    bench = Bench()
    body = request(ClusterName="no_underscore", NodeRecovery="Sometimes")
    body["InstanceGroups"][1] = group("workers", 6759, "ml.p9.large", ThreadsPerCore=3)
    text = refused(bench, body)
    assert text.startswith("5 validation errors detected: ")
    assert "'clusterName' failed to satisfy constraint: Member must satisfy regular expression" in text
    assert (
        "'instanceGroups.2.member.instanceCount' failed to satisfy constraint: Member must have value less"
        in text
    )
    assert "enum value set: [Automatic, None] (found Sometimes)" in text


def test_missing_unknown_and_mistyped_members_are_told() -> None:
    body = request(Colour="blue")
    body["InstanceGroups"][0]["InstanceCount"] = "one"
    del body["InstanceGroups"][1]["ExecutionRole"]
    text = refused(Bench(), body)
    assert "ExecutionRole" in text and "InstanceCount" in text and "Colour" in text


@pytest.mark.behaviour("HP002")
def test_names_are_unique() -> None:
    bench = Bench()
    twice = request()
    twice["InstanceGroups"].append(group("workers", 1))
    assert "Found more than once: workers" in refused(bench, twice)
    bench.up()
    assert "already exists" in refused(bench, request(), "ResourceInUse")
    bench.service.create_cluster(request(ClusterName="other"))


@pytest.mark.behaviour("HP003")
@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"SourceS3Uri": BUNDLE, "OnCreate": "a.sh", "OnInitComplete": "b.sh"}, "exclude each other"),
        ({"OnCreate": "a.sh"}, "given together"),
        ({"SourceS3Uri": BUNDLE}, "given together"),
        ({"SourceS3Uri": "https://bucket/x", "OnCreate": "a.sh"}, "not an s3:// URI"),
    ],
)
def test_hooks(config: dict[str, str], reason: str) -> None:
    assert reason in refused(Bench(), request(worker={"LifeCycleConfig": config}))


@pytest.mark.behaviour("HP004")
@pytest.mark.parametrize("roles", [{}, {ROLE: Role("execution", ROLE, frozenset({"ec2.amazonaws.com"}))}])
def test_role_must_be_assumable(roles: dict[str, Role]) -> None:
    bench = Bench()
    bench.store.roles = roles
    text = refused(bench, request())
    assert text.startswith(f"Could not assume role {ROLE}.") and "'sagemaker.amazonaws.com'" in text


@pytest.mark.behaviour("HP005")
def test_network_must_exist_and_belong_together() -> None:
    bench = Bench()
    bench.store.groups["sg-2"] = SecurityGroup("sg-2", "vpc-2", True, True)
    for vpc, reason in (
        ({"Subnets": ["subnet-9"], "SecurityGroupIds": ["sg-1"]}, "'subnet-9' does not exist"),
        ({"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-9"]}, "'sg-9' does not exist"),
        (
            {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1", "sg-2"]},
            "sg-2 and subnet subnet-1 are in diff",
        ),
    ):
        assert reason in refused(bench, request(VpcConfig=vpc))


@pytest.mark.behaviour("HP006")
def test_controller_group_is_the_one_the_parameters_name() -> None:
    bench = Bench()
    bench.store.bundles[BUNDLE]["provisioning_parameters.json"] = json.dumps(
        PARAMETERS | {"controller_group": "head"}
    ).encode()
    assert "names controller_group 'head'; the groups are controller-machine, workers" in refused(
        bench, request()
    )
    body = request()
    body["InstanceGroups"] = [group("workers", 1), group("head", 1)]
    bench.service.create_cluster(body)
    bench.settle()
    assert bench.machines.order("boot")[0] == "ip-10-0-128-10"
    assert bench.nodes("head")[0]["PrivateDnsHostname"].startswith("ip-10-0-128-10.")


@pytest.mark.behaviour("HP051")
def test_a_minimum_needs_continuous_provisioning_and_lies_below_the_count() -> None:
    minimum = request(worker={"MinInstanceCount": 3})
    assert "needs NodeProvisioningMode Continuous" in refused(Bench(), minimum)
    assert "must not exceed" in refused(Bench(), minimum | {"NodeProvisioningMode": "Continuous"})


@pytest.mark.behaviour("HP052")
@pytest.mark.parametrize(
    ("volumes", "reason"),
    [
        ([{"RootVolume": True, "VolumeSizeInGB": 200, "VolumeKmsKeyId": "k"}], "VolumeSizeInGB must not"),
        ([{"RootVolume": True}], "VolumeKmsKeyId must be specified"),
        ([{"VolumeKmsKeyId": "k"}], "must specify VolumeSizeInGB"),
        ([{"VolumeSizeInGB": 1}, {"VolumeSizeInGB": 2}], "more than one EbsVolumeConfig"),
    ],
)
def test_volumes(volumes: list[dict[str, Any]], reason: str) -> None:
    storage = [{"EbsVolumeConfig": volume} for volume in volumes]
    assert reason in refused(Bench(), request(worker={"InstanceStorageConfigs": storage}))


def test_a_root_volume_with_a_key_and_a_second_one_are_taken() -> None:
    volumes: list[dict[str, Any]] = [{"RootVolume": True, "VolumeKmsKeyId": "k"}, {"VolumeSizeInGB": 500}]
    bench = Bench()
    bench.up(worker={"InstanceStorageConfigs": [{"EbsVolumeConfig": volume} for volume in volumes]})
    assert bench.machine("ip-10-0-128-11").spec.ebs_gib == 500


def test_a_group_is_spot_or_on_demand() -> None:
    both: dict[str, Any] = {"CapacityRequirements": {"Spot": {}, "OnDemand": {}}}
    assert "must name one of its kinds" in refused(Bench(), request(worker=both))


@pytest.mark.behaviour("HP053")
def test_what_has_no_effect_is_taken_and_shown() -> None:
    shown = {
        "ScheduledUpdateConfig": {"ScheduleExpression": "cron(0 3 ? * SUN *)"},
        "AutoPatchConfig": {"PatchingStrategy": "WhenIdle"},
        "CapacityRequirements": {"Spot": {}},
    }
    tiered = {"Mode": "Enable", "InstanceMemoryAllocationPercentage": 20}
    bench = Bench()
    bench.up(worker={**shown, "ImageId": "ami-0123456789abcdef0"}, TieredStorageConfig=tiered)
    group_view = bench.describe()["InstanceGroups"][1]
    assert {key: group_view[key] for key in shown} == shown
    assert group_view["CurrentImageId"] == "ami-0123456789abcdef0"
    assert bench.describe()["TieredStorageConfig"] == tiered
    node = bench.service.describe_cluster_node({"ClusterName": "ml", "NodeId": bench.ids()[0]})
    assert node["NodeDetails"]["CapacityType"] == "Spot"


@pytest.mark.parametrize(("count", "reason"), [(0, "must have an instance"), (2, "emulates one controller")])
def test_controller_count(count: int, reason: str) -> None:
    body = request()
    body["InstanceGroups"][0]["InstanceCount"] = count
    assert reason in refused(Bench(), body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (request(AutoScaling={"Mode": "Enable"}), "does not emulate AutoScaling"),
        (
            request(worker={"InstanceRequirements": {"InstanceTypes": ["ml.m5.large"]}}),
            "InstanceRequirements",
        ),
        ({"ClusterName": "ml"}, "needs InstanceGroups and VpcConfig"),
    ],
)
def test_what_is_not_emulated_is_refused(body: dict[str, Any], reason: str) -> None:
    assert reason in refused(Bench(), body)


def test_a_request_in_order_is_taken() -> None:
    bench = Bench()
    arn = bench.service.create_cluster(request())["ClusterArn"]
    assert bench.service.describe_cluster({"ClusterName": arn})["ClusterStatus"] == "Creating"


@pytest.mark.behaviour("HP054")
@pytest.mark.parametrize(
    ("worker", "more", "reason"),
    [
        ({"ExecutionRole": f"{ROLE}-2"}, {}, "ExecutionRole of existing instance group workers"),
        ({"ThreadsPerCore": 2}, {}, "ThreadsPerCore of existing instance group workers"),
        (
            {"OverrideVpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}},
            {},
            "OverrideVpcConfig of existing instance group workers",
        ),
        ({}, {"NodeProvisioningMode": "Continuous"}, "is given when it is created"),
        ({}, {"VpcConfig": {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}}, "VpcConfig"),
    ],
)
def test_changes_that_are_refused(worker: dict[str, Any], more: dict[str, Any], reason: str) -> None:
    bench = Bench()
    bench.store.roles[f"{ROLE}-2"] = Role(
        "execution-2", f"{ROLE}-2", bench.store.roles[ROLE].trusted_services
    )
    bench.up(worker={"ThreadsPerCore": 1})
    before = bench.describe()
    changed = group("workers", 2) | {"ThreadsPerCore": 1} | worker
    with pytest.raises(ServiceError, match=reason):
        bench.service.update_cluster({"ClusterName": "ml", "InstanceGroups": [changed], **more})
    assert bench.describe() == before and not bench.queue


@pytest.mark.behaviour("HP028")
def test_type_of_a_group_stays_and_deleted_groups_go() -> None:
    bench = Bench()
    bench.up()
    changed = {"ClusterName": "ml", "InstanceGroups": [group("workers", 2, "ml.m5.xlarge")]}
    with pytest.raises(ServiceError, match=r"cannot be changed from ml\.m5\.large to ml\.m5\.xlarge"):
        bench.service.update_cluster(changed)
    with pytest.raises(ServiceError, match="controller group controller-machine cannot be deleted"):
        bench.service.update_cluster({"ClusterName": "ml", "InstanceGroupsToDelete": ["controller-machine"]})
    with pytest.raises(ServiceError, match="nothing do not exist"):
        bench.service.update_cluster({"ClusterName": "ml", "InstanceGroupsToDelete": ["nothing"]})
    bench.service.update_cluster({"ClusterName": "ml", "InstanceGroupsToDelete": ["workers"]})
    bench.settle()
    assert [g["InstanceGroupName"] for g in bench.describe()["InstanceGroups"]] == ["controller-machine"]
    assert [row["InstanceGroupName"] for row in bench.nodes()] == ["controller-machine"]


def test_an_update_that_does_not_fit_changes_nothing() -> None:
    bench = Bench()
    bench.up()
    with pytest.raises(ServiceError, match="Insufficient free addresses"):
        bench.service.update_cluster(resize(400))
    assert bench.status() == "InService" and len(bench.nodes()) == 3
    assert bench.describe()["InstanceGroups"][1]["TargetCount"] == 2


def test_tags_with_letters_of_any_script_are_taken() -> None:
    bench = Bench()
    bench.service.create_cluster(request(Tags=[{"Key": "team", "Value": "research"}]))
    assert bench.status() == "Creating"
