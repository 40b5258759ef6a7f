"""The CreateCluster request of a cluster file, held against botocore's own model of the API."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator

from unbroken import config, render
from unbroken.config import ClusterConfig
from unbroken.render import hyperpod

CLUSTERS = sorted((Path(__file__).resolve().parents[3] / "clusters").glob("*.yaml"))
KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
LUSTRE, HOME = (f"fs-0123456789abcdef{n}.fsx.us-west-2.amazonaws.com" for n in "01")
BUNDLE = "s3://sagemaker-ml/lifecycle/0123456789abcdef/"
WORKER = {"name": "w", "instance_type": "ml.p5.48xlarge", "num_instances": 2}


def around(**changes: Any) -> hyperpod.Surroundings:
    values: dict[str, Any] = {
        "execution_role_arn": "arn:aws:iam::111122223333:role/nodes",
        "private_subnet_id": "subnet-1",
        "security_group_ids": ["sg-1"],
        "lifecycle_uri": BUNDLE,
        "file_systems": render.FileSystems(LUSTRE, "abcd", HOME),
        "subnet_ids": {"spare-zone": "subnet-2"},
    }
    return hyperpod.Surroundings(**(values | changes))


def cluster(**values: Any) -> ClusterConfig:
    return ClusterConfig.model_validate({"name": "ml", "worker_groups": [WORKER]} | values)


def worker(**values: Any) -> dict[str, Any]:
    """The only worker group's part of the request."""
    made = hyperpod.create_cluster(cluster(worker_groups=[WORKER | values]), around())
    group: dict[str, Any] = made["InstanceGroups"][-1]
    return group


def complaints(request: dict[str, Any]) -> str:
    """What botocore finds wrong with a CreateCluster request."""
    shape = get_session().get_service_model("sagemaker").operation_model("CreateCluster").input_shape
    found: str = ParamValidator().validate(request, shape).generate_report()
    return found


@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.stem)
def test_the_request_of_every_example_is_one_the_api_takes(path: Path) -> None:
    loaded = config.load(path)
    assert complaints(hyperpod.create_cluster(loaded, around(key_arn=KEY))) == ""


@pytest.mark.parametrize("change", [{"InstanceCont": 1}, {"ThreadsPerCore": "1"}, {"SlurmConfig": {}}])
def test_botocore_sees_what_the_api_would_refuse(change: dict[str, Any]) -> None:
    request = hyperpod.create_cluster(cluster(), around())
    request["InstanceGroups"][0] |= change
    assert complaints(request)


def test_in_scripts_mode_hyperpod_learns_of_slurm_from_files() -> None:
    request = hyperpod.create_cluster(cluster(), around())
    assert "Orchestrator" not in request
    for group in request["InstanceGroups"]:
        assert group["LifeCycleConfig"] == {
            "SourceS3Uri": BUNDLE,
            "OnCreate": "on_create.sh",
        }
        assert "SlurmConfig" not in group
        assert not [item for item in group.get("InstanceStorageConfigs", []) if "EbsVolumeConfig" not in item]


API: dict[str, Any] = {
    "slurm": {"mode": "api", "partition_strategy": "Overwrite"},
    "login_groups": [{"name": "login"}],
    "home": {},
}


def test_in_api_mode_the_request_says_it_all() -> None:
    request = hyperpod.create_cluster(cluster(**API), around())
    assert request["Orchestrator"] == {"Slurm": {"SlurmConfigStrategy": "Overwrite"}}
    assert [group["SlurmConfig"] for group in request["InstanceGroups"]] == [
        {"NodeType": "Controller"},
        {"NodeType": "Login"},
        {"NodeType": "Compute", "PartitionNames": ["dev"]},
    ]
    for group in request["InstanceGroups"]:
        assert group["LifeCycleConfig"]["OnInitComplete"] == "on_init_complete.sh"
        assert "OnCreate" not in group["LifeCycleConfig"]  # the two exclude each other
        assert group["InstanceStorageConfigs"][-2:] == [
            {"FsxLustreConfig": {"DnsName": LUSTRE, "MountName": "abcd", "MountPath": "/fsx"}},
            {"FsxOpenZfsConfig": {"DnsName": HOME, "MountPath": "/home"}},
        ]


def test_an_accounting_database_of_ones_own() -> None:
    database = {
        "endpoint": "db.example",
        "secret_arn": "arn:aws:secretsmanager:us-west-2:111122223333:secret:s",
    }
    values = {"slurm": {"mode": "api", "accounting_database": database}, "node_provisioning": "Continuous"}
    request = hyperpod.create_cluster(cluster(**values), around())
    assert request["NodeProvisioningMode"] == "Continuous"
    assert request["Orchestrator"]["Slurm"]["AccountingDatabase"] == {
        "Endpoint": "db.example",
        "SecretArn": database["secret_arn"],
        "Port": 3306,
    }
    database["name"] = "jobs"
    named = hyperpod.create_cluster(cluster(**values), around())
    assert named["Orchestrator"]["Slurm"]["AccountingDatabase"]["Name"] == "jobs"


def test_a_key_is_on_both_volumes_and_a_groups_own_key_wins() -> None:
    own = KEY.replace("1234abcd", "4321dcba")
    groups = [WORKER, WORKER | {"name": "x", "ebs_gib": 100, "volume_kms_key": own}]
    request = hyperpod.create_cluster(cluster(worker_groups=groups), around(key_arn=KEY))
    controller, first, second = (group["InstanceStorageConfigs"] for group in request["InstanceGroups"])
    root = {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": KEY}}
    assert controller == [root, {"EbsVolumeConfig": {"VolumeSizeInGB": 500, "VolumeKmsKeyId": KEY}}]
    assert first == [root]
    assert [item["EbsVolumeConfig"]["VolumeKmsKeyId"] for item in second] == [own, own]


def test_without_a_key_or_a_size_there_is_no_word_of_volumes() -> None:
    assert "InstanceStorageConfigs" not in worker()


def test_how_nodes_are_bought_and_checked() -> None:
    plan = {
        "arn": "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p",
        "availability_zone_id": "usw2-az4",
    }
    assert worker(capacity="spot")["CapacityRequirements"] == {"Spot": {}}
    assert "CapacityRequirements" not in worker()
    assert worker(training_plan=plan)["TrainingPlanArn"] == plan["arn"]
    checks = ["InstanceStress", "InstanceConnectivity"]
    assert worker(deep_health_checks=checks)["OnStartDeepHealthChecks"] == checks


def test_a_group_in_another_zone_keeps_the_clusters_security_groups() -> None:
    subnet = {"name": "spare-zone", "availability_zone_id": "usw2-az3", "cidr": "10.0.64.0/20"}
    elsewhere = WORKER | {"name": "x", "subnet": "spare-zone", "partition": "spare"}
    groups = [WORKER | {"partition": "train"}, elsewhere]
    made = hyperpod.create_cluster(cluster(network={"subnets": [subnet]}, worker_groups=groups), around())
    assert made["InstanceGroups"][-1]["OverrideVpcConfig"] == {
        "SecurityGroupIds": ["sg-1"],
        "Subnets": ["subnet-2"],
    }
    assert "OverrideVpcConfig" not in made["InstanceGroups"][1]


EXISTING = {"vpc_id": "vpc-0123456789abcdef0", "private_subnet_id": "subnet-0123456789abcdef0"}


@pytest.mark.parametrize(
    ("place", "subnet"), [({}, "subnet-1"), ({"subnet": "subnet-1123456789abcdef0"}, None)]
)
def test_further_security_groups_in_a_network_that_is_there(
    place: dict[str, str], subnet: str | None
) -> None:
    groups = [WORKER | place | {"security_group_ids": ["sg-0fedcba9876543210"]}]
    made = hyperpod.create_cluster(cluster(network={"existing": EXISTING}, worker_groups=groups), around())
    assert made["InstanceGroups"][-1]["OverrideVpcConfig"] == {
        "SecurityGroupIds": ["sg-1", "sg-0fedcba9876543210"],
        "Subnets": [subnet or place["subnet"]],
    }


def test_updates_at_set_times() -> None:
    rolling = {"max_percent": 25, "wait_seconds": 600, "rollback_alarms": ["lost"]}
    update = {"schedule": "cron(0 3 ? * SUN *)", "rolling": rolling}
    assert worker(scheduled_update=update)["ScheduledUpdateConfig"] == {
        "ScheduleExpression": "cron(0 3 ? * SUN *)",
        "DeploymentConfig": {
            "RollingUpdatePolicy": {"MaximumBatchSize": {"Type": "CAPACITY_PERCENTAGE", "Value": 25}},
            "WaitIntervalInSeconds": 600,
            "AutoRollbackConfiguration": [{"AlarmName": "lost"}],
        },
    }
    plain = {"schedule": "cron(0 3 ? * SUN *)"}
    assert worker(scheduled_update=plain)["ScheduledUpdateConfig"] == {
        "ScheduleExpression": "cron(0 3 ? * SUN *)"
    }
    assert worker(auto_patch={})["AutoPatchConfig"] == {"PatchingStrategy": "WhenIdle"}


def test_threads_per_core_is_said_for_every_group_of_every_example() -> None:
    for path in CLUSTERS:
        for group in hyperpod.create_cluster(config.load(path), around())["InstanceGroups"]:
            assert group["ThreadsPerCore"] in (1, 2)


def test_the_order_of_groups_in_the_file_changes_nothing() -> None:
    groups = [WORKER | {"name": f"g{index}", "partition": "train"} for index in range(8)]
    logins = [{"name": f"login-{index}"} for index in range(3)]
    mixer = random.Random(7)  # noqa: S311  (a shuffle, not a secret)
    made = []
    for _ in range(20):
        mixer.shuffle(groups)
        mixer.shuffle(logins)
        values: dict[str, Any] = {"worker_groups": list(groups), "login_groups": list(logins)}
        made.append(hyperpod.create_cluster(cluster(**values, slurm={"mode": "api"}), around()))
    assert all(request == made[0] for request in made)


def test_the_modes_scripts_are_those_of_the_bundle() -> None:
    assets = Path(render.__file__).resolve().parents[2] / "lifecycle_assets"
    assert (assets / hyperpod.ON_CREATE).is_file()
