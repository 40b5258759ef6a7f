"""The cluster as HyperPod's API takes it: CreateCluster's request, whose names CloudFormation's type shares.

One function serves the template and ``unbroken export hyperpod``, so the two cannot drift apart. Source: API
reference, CreateCluster; CloudFormation template reference, AWS::SageMaker::Cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unbroken.config import ClusterConfig, InstanceGroup, LoginGroup, ScheduledUpdate, WorkerGroup
from unbroken.render.hyperpod_storage import FileSystems, storage_configs

ON_CREATE = "on_create.sh"
ON_INIT_COMPLETE = "on_init_complete.sh"


@dataclass(frozen=True)
class Surroundings:
    """What only a deployment knows, as plain strings or CDK tokens."""

    execution_role_arn: str
    private_subnet_id: str
    security_group_ids: Sequence[str]
    lifecycle_uri: str
    """``s3://bucket/prefix/`` of the bundle."""
    file_systems: FileSystems
    key_arn: str | None = None
    """Key of the volumes; AWS's own unless given."""
    subnet_ids: Mapping[str, str] = field(default_factory=dict)
    """Id by name of ``network.subnets``."""


def create_cluster(config: ClusterConfig, around: Surroundings) -> dict[str, Any]:
    """CreateCluster's request without tags.

    Groups come in an order that does not follow the file's (controller, login and worker groups by name), so
    that moving a group in the file changes nothing.
    """
    request: dict[str, Any] = {
        "ClusterName": config.name,
        "InstanceGroups": [_group(config, group, around) for group in ordered_groups(config)],
        "NodeRecovery": config.node_recovery,
        "VpcConfig": _vpc(around.private_subnet_id, around.security_group_ids),
    }
    if config.slurm.mode == "api":
        request["Orchestrator"] = {"Slurm": _slurm(config)}
    if config.node_provisioning == "Continuous":
        request["NodeProvisioningMode"] = "Continuous"
    if config.tiered_storage:
        share = config.tiered_storage.memory_percent
        request["TieredStorageConfig"] = {"Mode": "Enable", "InstanceMemoryAllocationPercentage": share}
    return request


def ordered_groups(config: ClusterConfig) -> list[InstanceGroup]:
    """Controller, login groups by name, worker groups by name."""
    logins = sorted(config.login_groups, key=lambda group: group.name)
    workers = sorted(config.worker_groups, key=lambda group: group.name)
    return [config.controller_group, *logins, *workers]


def _group(config: ClusterConfig, group: InstanceGroup, around: Surroundings) -> dict[str, Any]:
    """ThreadsPerCore is always said: left out of an update, the service sets it back."""
    api = config.slurm.mode == "api"
    body: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "InstanceType": group.instance_type,
        "InstanceCount": group.num_instances,
        "ThreadsPerCore": group.threads_per_core,
        "ExecutionRole": around.execution_role_arn,
        "LifeCycleConfig": {
            "SourceS3Uri": around.lifecycle_uri,
            **({"OnInitComplete": ON_INIT_COMPLETE} if api else {"OnCreate": ON_CREATE}),
        },
    }
    storage = storage_configs(config, group, around.file_systems, around.key_arn)
    optional = {
        "SlurmConfig": _node_type(group) if api else None,
        "InstanceStorageConfigs": storage,
        "ImageId": group.image_id,
        "OverrideVpcConfig": _override(group, around),
        "ScheduledUpdateConfig": _scheduled(group.scheduled_update) if group.scheduled_update else None,
        "AutoPatchConfig": {"PatchingStrategy": group.auto_patch.strategy} if group.auto_patch else None,
        **(_workers_only(group) if isinstance(group, WorkerGroup) else {}),
    }
    return body | {name: value for name, value in optional.items() if value is not None and value != []}


def _workers_only(group: WorkerGroup) -> dict[str, Any]:
    return {
        "MinInstanceCount": group.min_instances,
        "CapacityRequirements": {"Spot": {}} if group.capacity == "spot" else None,
        "TrainingPlanArn": group.training_plan.arn if group.training_plan else None,
        "OnStartDeepHealthChecks": list(group.deep_health_checks),
    }


def _node_type(group: InstanceGroup) -> dict[str, Any]:
    """The API's text calls workers Worker; its enumeration, which wins, calls them Compute."""
    if isinstance(group, WorkerGroup):
        return {"NodeType": "Compute", "PartitionNames": [group.partition]}
    return {"NodeType": "Login" if isinstance(group, LoginGroup) else "Controller"}


def _slurm(config: ClusterConfig) -> dict[str, Any]:
    slurm: dict[str, Any] = {"SlurmConfigStrategy": config.slurm.partition_strategy}
    if database := config.slurm.accounting_database:
        optional = {"Name": database.name, "Port": database.port}
        slurm["AccountingDatabase"] = {
            "Endpoint": database.endpoint,
            "SecretArn": database.secret_arn,
            **{name: value for name, value in optional.items() if value is not None},
        }
    return slurm


def _override(group: InstanceGroup, around: Surroundings) -> dict[str, Any] | None:
    """A group's own subnet and further security groups; the cluster's own stay, for EFA and the mounts."""
    if group.subnet is None and not group.security_group_ids:
        return None
    subnet = around.private_subnet_id
    if group.subnet is not None:
        subnet = around.subnet_ids.get(group.subnet, group.subnet)
    return _vpc(subnet, [*around.security_group_ids, *group.security_group_ids])


def _vpc(subnet: str, security_groups: Sequence[str]) -> dict[str, Any]:
    return {"SecurityGroupIds": list(security_groups), "Subnets": [subnet]}


def _scheduled(update: ScheduledUpdate) -> dict[str, Any]:
    """Without a batch size there is no rolling policy: its size is required."""
    rolling = update.rolling
    deployment: dict[str, Any] = {}
    if rolling.max_nodes is not None or rolling.max_percent is not None:
        kind = "INSTANCE_COUNT" if rolling.max_nodes is not None else "CAPACITY_PERCENTAGE"
        size = {"Type": kind, "Value": rolling.max_nodes or rolling.max_percent}
        deployment["RollingUpdatePolicy"] = {"MaximumBatchSize": size}
    if rolling.wait_seconds:
        deployment["WaitIntervalInSeconds"] = rolling.wait_seconds
    if rolling.rollback_alarms:
        deployment["AutoRollbackConfiguration"] = [{"AlarmName": name} for name in rolling.rollback_alarms]
    schedule: dict[str, Any] = {"ScheduleExpression": update.schedule}
    return schedule | ({"DeploymentConfig": deployment} if deployment else {})
