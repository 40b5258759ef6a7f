"""The plan of a change, against a cluster that is deployed on the embedded AWS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.rehearsal.aws.assembly import Assembly as Deployment
from tests.synth.build import synth
from unbroken.config import (
    ClusterConfig,
    LoginGroup,
    LogsConfig,
    NetworkConfig,
    StorageConfig,
    TrainingConfig,
    UserConfig,
    WorkerGroup,
)
from unbroken.ops import diff
from unbroken.ops.diff import Plan, words
from unbroken.ops.synth import Assembly
from unbroken.ops.target import on_embedded

if TYPE_CHECKING:
    from unbroken.rehearsal.composition import Rehearsal

TYPE = "ml.c5.xlarge"


def cluster(**changes: Any) -> ClusterConfig:
    content: dict[str, Any] = {
        "name": "planned",
        "worker_groups": [WorkerGroup(name="cpu", instance_type=TYPE, num_instances=2)],
        "storage": StorageConfig(deletion="delete"),
    }
    return ClusterConfig(**(content | changes))


def cpu(count: int, **changes: Any) -> WorkerGroup:
    return WorkerGroup(name="cpu", instance_type=TYPE, num_instances=count, **changes)


@dataclass
class Deployed:
    """A cluster that is up, and the plans of other versions of its file."""

    rehearsal: Rehearsal
    folder: Path
    made: list[Path] = field(default_factory=list)

    def synth(self, config: ClusterConfig) -> Path:
        folder = self.folder / str(len(self.made))
        self.made.append(folder)
        return synth(config, folder).folder

    def plan(self, config: ClusterConfig) -> Plan:
        target = on_embedded(self.rehearsal.aws.port, config.region)
        return diff.plan(target.aws, Assembly(self.synth(config)), config.name)


@pytest.fixture(scope="module")
def deployed(rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    there = Deployed(rehearsal, tmp_path_factory.mktemp("planned"))
    deployment = Deployment(there.synth(cluster()), rehearsal.aws.clients.of)
    deployment.publish()
    assert [stack.status for stack in deployment.deploy()] == ["CREATE_COMPLETE"] * 4
    yield there
    deployment.destroy()


def effects(plan: Plan) -> dict[str, tuple[int, int, int]]:
    return {group.name: (group.kept, group.added, group.removed) for group in plan.groups}


def test_the_same_file_changes_nothing(deployed: Deployed) -> None:
    plan = deployed.plan(cluster())
    assert (plan.empty, plan.refusals(), plan.resources) == (True, [], ())
    assert len(plan.nodes) == 3


def test_more_nodes_and_a_new_group_are_added(deployed: Deployed) -> None:
    plan = deployed.plan(cluster(worker_groups=[cpu(5)], login_groups=[LoginGroup(name="login")]))
    assert effects(plan) == {"controller-machine": (1, 0, 0), "cpu": (2, 3, 0), "login": (0, 1, 0)}
    assert plan.refusals() == []
    # node.json names the group
    assert any("nodes that keep what they have: 3" in note for note in words.notes(plan))


@pytest.mark.parametrize(
    ("changes", "job", "bundle"),
    [
        ({"training": TrainingConfig(num_steps=7)}, True, False),
        ({"worker_groups": [cpu(3)]}, True, False),
        ({"user": UserConfig(name="ann")}, True, True),
        ({"logs": LogsConfig(retention_days=7)}, False, False),
    ],
)
def test_a_changed_job_and_a_changed_bundle_are_told_apart(
    deployed: Deployed, changes: dict[str, Any], job: bool, bundle: bool
) -> None:
    plan = deployed.plan(cluster(**changes))
    assert (plan.job_changes, plan.bundle_changes) == (job, bundle)
    assert any("the changed job reaches the controller" in note for note in words.notes(plan)) is job
    assert any("nodes that keep what they have" in note for note in words.notes(plan)) is bundle


def test_fewer_nodes_want_names_that_the_cluster_has(deployed: Deployed) -> None:
    plan = deployed.plan(cluster(worker_groups=[cpu(1)]))
    [refusal] = plan.refusals()
    ids = [node.instance_id for node in plan.nodes if node.group == "cpu"]
    assert all(identity in refusal.way_out for identity in ids)
    assert plan.refusals(removed=ids[:1]) == []


def test_another_zone_would_lose_the_data(deployed: Deployed) -> None:
    plan = deployed.plan(cluster(network=NetworkConfig(availability_zone_id="usw2-az2")))
    whats = [refusal.what for refusal in plan.refusals()]
    assert whats == [
        "the file system FileSystem (storage) would be replaced",
        "the cluster Cluster (cluster) would be replaced",
    ]
    assert effects(plan)["cpu"] == (0, 2, 2)
    assert plan.refusals(allow_replace=True) == []
    assert words.data_lines(plan) == [
        "the file system FileSystem (storage) is replaced, because of SubnetIds: its data is lost"
    ]


def test_a_larger_file_system_is_no_trouble(deployed: Deployed) -> None:
    plan = deployed.plan(cluster(storage=StorageConfig(deletion="delete", capacity_gib=2400)))
    assert plan.refusals() == []
    assert [line for line in words.resource_lines(plan) if "FileSystem" in line] == [
        "storage: change FileSystem (AWS::FSx::FileSystem) StorageCapacity"
    ]


def test_a_cluster_of_another_name_is_all_new(deployed: Deployed) -> None:
    plan = deployed.plan(cluster(name="other"))
    assert plan.new_stacks == tuple(f"other-{area}" for area in ("network", "storage", "identity", "cluster"))
    assert effects(plan)["cpu"] == (0, 2, 0)
    assert words.resource_lines(plan) == []


def test_a_stack_that_is_no_longer_asked_for_is_told(deployed: Deployed) -> None:
    client = deployed.rehearsal.aws.clients.of("cloudformation")
    tags = [{"Key": "unbroken:cluster", "Value": "planned"}]
    body = '{"Resources": {"Nothing": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}'
    client.create_stack(StackName="planned-budget", TemplateBody=body, Tags=tags)
    try:
        plan = deployed.plan(cluster())
        assert plan.orphans == ("planned-budget",)
        assert any("planned-budget" in note for note in words.notes(plan))
    finally:
        client.delete_stack(StackName="planned-budget")
