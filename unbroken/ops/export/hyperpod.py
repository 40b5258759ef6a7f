"""HyperPod's own files of a deployed cluster: cluster-config.json, provisioning_parameters.json, env_vars."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from unbroken import render
from unbroken.config import ClusterConfig
from unbroken.ops.choose_target import chosen
from unbroken.ops.export.folder import whole_files
from unbroken.ops.outputs import Outputs
from unbroken.render import hyperpod_files


@dataclass(frozen=True)
class Export:
    """What was written."""

    cluster: str
    region: str
    folder: str
    files: list[str]


def export(cluster: str | None, target: str, rehearsal: str | None, out: Path) -> Export:
    """Write the files into ``out`` once every value is known.

    ConfigError for a wrong file; CannotRun, which names stack and value, where one is missing; AwsError where
    AWS cannot be asked.
    """
    _, config, where = chosen(target, cluster, rehearsal)
    texts = files(config, Outputs(where.aws, config))
    whole_files(out, texts)
    return Export(config.name, config.region, str(out), list(texts))


def files(config: ClusterConfig, outputs: Outputs) -> dict[str, str]:
    """The texts by name. In ``api`` mode the request says what provisioning_parameters.json would."""
    around = _surroundings(config, outputs)
    request = hyperpod_files.request(config, around)
    texts = {"cluster-config.json": json.dumps(request, indent=2) + "\n"}
    if config.slurm.mode == "scripts":
        systems = around.file_systems
        texts["provisioning_parameters.json"] = render.provisioning_parameters(
            config, systems.fsx_dns_name, systems.fsx_mount_name, systems.home_dns_name
        )
    place = hyperpod_files.Place(
        vpc_id=outputs.get("network", "VpcId"),
        file_system_id=outputs.get("storage", "FileSystemId"),
        lifecycle_bucket=outputs.get("storage", "LifecycleBucketName"),
    )
    return texts | {"env_vars": hyperpod_files.env_vars(config, around, place)}


def _surroundings(config: ClusterConfig, outputs: Outputs) -> render.Surroundings:
    return render.Surroundings(
        execution_role_arn=outputs.get("identity", "ExecutionRoleArn"),
        private_subnet_id=outputs.get("network", "PrivateSubnetId"),
        security_group_ids=outputs.get("network", "SecurityGroupId").split(","),
        lifecycle_uri=outputs.get("cluster", "LifecycleUri"),
        file_systems=render.FileSystems(
            outputs.get("storage", "FileSystemDnsName"),
            outputs.get("storage", "FileSystemMountName"),
            outputs.get("storage", "HomeDnsName") if config.home else None,
        ),
        key_arn=None if config.encryption.kms_key == "aws" else outputs.get("storage", "KmsKeyArn"),
        subnet_ids={
            subnet.name: outputs.get("network", hyperpod_files.subnet_output(subnet.name))
            for subnet in config.network.subnets
        },
    )
