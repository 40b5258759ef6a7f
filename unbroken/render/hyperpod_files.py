"""What ``unbroken export hyperpod`` writes, in the forms that the public HyperPod workshop's tools read."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from unbroken.config import ClusterConfig
from unbroken.render.hyperpod import Surroundings, create_cluster


@dataclass(frozen=True)
class Place:
    """Further things that the workshop's tools ask for."""

    vpc_id: str
    file_system_id: str
    lifecycle_bucket: str


def request(config: ClusterConfig, around: Surroundings) -> dict[str, Any]:
    """The whole request, for ``aws sagemaker create-cluster --cli-input-json``."""
    listed = [{"Key": key, "Value": value} for key, value in config.own_tags.items()]
    return create_cluster(config, around) | {"Tags": listed}


def env_vars(config: ClusterConfig, around: Surroundings, place: Place) -> str:
    """Lines of ``export NAME=value``, under the names that the workshop's create_config.sh gives them."""
    values = {
        "AWS_REGION": config.region,
        "INSTANCES": config.worker_groups[0].instance_type,
        "VPC_ID": place.vpc_id,
        "SUBNET_ID": around.private_subnet_id,
        "FSX_ID": place.file_system_id,
        "FSX_MOUNTNAME": around.file_systems.fsx_mount_name,
        "SECURITY_GROUP": around.security_group_ids[0],
        "ROLE": around.execution_role_arn,
        "ROLENAME": around.execution_role_arn.rpartition("/")[2],
        "BUCKET": place.lifecycle_bucket,
    }
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def subnet_output(name: str) -> str:
    """The network stack's output with the id of a named subnet: ``spare-zone`` is SubnetSpareZoneId."""
    return f"Subnet{''.join(part[:1].upper() + part[1:] for part in name.split('-'))}Id"
