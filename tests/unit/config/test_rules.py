"""The rules of each section: what is refused, and that its neighbour is taken."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from training.config import JobConfig
from training.model.presets import PRESETS
from unbroken.config import (
    ClusterConfig,
    ControllerGroup,
    DataRepository,
    IdentityConfig,
    LoginGroup,
    NetworkConfig,
    StorageConfig,
    TrainingConfig,
    UserConfig,
    WorkerGroup,
)
from unbroken.config.training import LAUNCHER


def worker(**changes: Any) -> WorkerGroup:
    values = {"name": "w1", "instance_type": "ml.p4de.24xlarge", "num_instances": 4, **changes}
    return WorkerGroup(**values)


def cluster(**changes: Any) -> ClusterConfig:
    values = {"name": "ml-cluster", "worker_groups": [worker()], **changes}
    return ClusterConfig(**values)


@pytest.mark.parametrize(
    "path", ["/", "fsx", "/fsx/", "//fsx", "/usr/local", "/opt", "/a b", "/fsx/../etc", ""]
)
def test_mount_paths_that_are_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        StorageConfig(mount_path=path)


def test_mount_paths_that_are_taken() -> None:
    assert StorageConfig(mount_path="/fsx/shared").mount_path == "/fsx/shared"
    assert StorageConfig(mount_path="/option").mount_path == "/option"  # begins like /opt, is another folder


@pytest.mark.parametrize(
    "changes",
    [
        {"private_subnet_cidr": "10.1.0.0/17"},
        {"public_subnet_cidr": "10.0.200.0/24"},
        {"vpc_cidr": "10.0.0.0/15"},
        {"vpc_cidr": "10.0.0.1/16"},
        {"vpc_cidr": "8.8.0.0/16"},
        {"public_subnet_cidr": "10.0.0.0/29"},
        {"private_subnet_cidr": "ten"},
        {"availability_zone_id": "us-west-2d"},
        {"availability_zone_id": "usw2-4"},
    ],
)
def test_networks_that_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        NetworkConfig(**changes)


def test_another_network_is_taken() -> None:
    network = NetworkConfig(
        vpc_cidr="172.16.0.0/20", public_subnet_cidr="172.16.0.0/28", private_subnet_cidr="172.16.8.0/21"
    )
    assert network.vpc_cidr == "172.16.0.0/20"


def test_the_zone_lies_in_the_region() -> None:
    with pytest.raises(ValidationError, match="is not a zone of eu-west-1"):
        cluster(region="eu-west-1")
    zone = NetworkConfig(availability_zone_id="euw1-az2")
    assert cluster(region="eu-west-1", network=zone).region == "eu-west-1"


@pytest.mark.parametrize("name", ["", "-a", "a-", "1a", "a_b", "a b", "a" * 64, "Gr\u00f6\u00dfe"])
def test_cluster_names_that_are_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        cluster(name=name)


@pytest.mark.parametrize("name", ["a", "Ml--Cluster-2", "a" * 63])
def test_cluster_names_that_are_taken(name: str) -> None:
    assert cluster(name=name).name == name


def test_group_names_are_unique_whatever_the_group() -> None:
    with pytest.raises(ValidationError, match="names two groups"):
        cluster(worker_groups=[worker(), worker()])
    with pytest.raises(ValidationError, match="names two groups"):
        cluster(worker_groups=[worker(name="controller-machine")])
    with pytest.raises(ValidationError, match="names two groups"):
        cluster(login_groups=[LoginGroup()], worker_groups=[worker(name="login-group")])
    names = [group.name for group in cluster(login_groups=[LoginGroup()]).groups()]
    assert names == ["controller-machine", "login-group", "w1"]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "a_b"},
        {"instance_type": "p4de.24xlarge"},
        {"num_instances": 0},
        {"num_instances": 6759},
        {"threads_per_core": 3},
        {"ebs_gib": 16_385},
        {"partition": "a,b"},
        {"partition": "ALL"},
        {"partition": "default"},
    ],
)
def test_groups_that_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        worker(**changes)


def test_a_partition_may_be_called_like_an_instance_type() -> None:
    assert worker(partition="ml.p5.48xlarge").partition == "ml.p5.48xlarge"


def test_the_jobs_partition_holds_nodes_of_one_type() -> None:
    """HyperPod's dev holds every node, whichever groups name it."""
    other = worker(name="w2", instance_type="ml.g5.8xlarge", partition="other")
    with pytest.raises(ValidationError, match="dev holds every node of the cluster"):
        cluster(worker_groups=[worker(), other])
    assert cluster(worker_groups=[worker(partition="train"), other]).groups()[1].name == "w1"
    assert cluster(worker_groups=[worker(), worker(name="w2")]).groups()[2].name == "w2"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"user": UserConfig(name="unbroken")}, "where the training code is"),
        ({"user": UserConfig(name="data")}, "is where the home of the user is"),
        (
            {"storage": StorageConfig(data_repositories=[DataRepository(path="/unbroken/env")])},
            "is where the training code is",
        ),
        ({"storage": StorageConfig(mount_path="/lustre")}, "is not on the file system"),
    ],
)
def test_folders_of_the_file_system_stay_apart(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        cluster(**changes)


def test_another_mount_path_is_taken_with_an_interpreter_on_it() -> None:
    training = TrainingConfig(python="/lustre/unbroken/env/bin/python3")
    assert cluster(storage=StorageConfig(mount_path="/lustre"), training=training).training == training
    elsewhere = TrainingConfig(python="/opt/conda/bin/python3")
    assert cluster(storage=StorageConfig(mount_path="/lustre"), training=elsewhere).training == elsewhere


def test_there_is_one_controller_and_at_least_one_worker_group() -> None:
    with pytest.raises(ValidationError, match="exactly one"):
        ControllerGroup(num_instances=2)
    with pytest.raises(ValidationError):
        cluster(worker_groups=[])


@pytest.mark.parametrize("changes", [{"name": "root"}, {"name": "Ubuntu"}, {"uid": 0}, {"uid": 70_000}])
def test_users_that_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        UserConfig(**changes)


@pytest.mark.parametrize("arn", ["pb", "arn:aws:iam::1:policy/x", "arn:aws:iam::111122223333:role/x"])
def test_boundaries_that_are_refused(arn: str) -> None:
    with pytest.raises(ValidationError):
        IdentityConfig(permissions_boundary=arn)


@pytest.mark.parametrize(
    "tags",
    [
        {"aws:x": "1"},
        {"k" * 129: "1"},
        {"k": "v" * 257},
        {str(n): "" for n in range(41)},
        {"unbroken:cluster": "x"},
        {"Unbroken:cluster": "x"},
        {"aws-cdk:auto-delete-objects": "true"},
        {"Team": "a", "team": "b"},
    ],
)
def test_tags_that_are_refused(tags: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        cluster(tags=tags)


def test_the_job_is_the_trainers_own_default() -> None:
    """Both ends have defaults, since the trainer runs without the cluster file; they may not drift apart."""
    ours = TrainingConfig().model_dump()
    theirs = vars(JobConfig())
    assert set(ours) - set(theirs) == LAUNCHER
    assert set(theirs) - set(ours) == {"device"}
    assert {key: value for key, value in ours.items() if key in theirs} == {
        key: value for key, value in theirs.items() if key in ours
    }


def test_a_job_of_each_preset_is_one_that_the_trainer_knows() -> None:
    ours = get_args(TrainingConfig.model_fields["preset"].annotation)
    assert set(ours) == set(PRESETS)


@pytest.mark.parametrize(
    "changes",
    [
        {"min_learning_rate": 1e-3},
        {"warmup_fraction": 0.6, "plateau_fraction": 0.6},
        {"keep_checkpoints": 1},
        {"dataset": "two words"},
        {"tokenizer": "s3://bucket/tokenizer"},
        {"container_mounts": ["/data"]},
        {"container_image": "it's"},
        {"container_image": "x", "container_mounts": ["data:/data"]},
        {"hub_token_file": "~/token"},
        {"lr_schedule": "plateau"},
        {"python": "python3"},
        {"python": "/opt/it's/python3"},
        {"beta1": 1.0},
        {"num_steps": 0},
    ],
)
def test_jobs_that_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TrainingConfig(**changes)
