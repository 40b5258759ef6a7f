"""Buckets, file systems and workspaces brought along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from unbroken.config import ClusterConfig
from unbroken.rehearsal.aws.embedded import EmbeddedAws
from unbroken.rehearsal.aws.workspaces import Workspace

LUSTRE = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250}
OPENZFS = {"DeploymentType": "SINGLE_AZ_HA_2", "ThroughputCapacity": 160}


def bring(config: ClusterConfig, aws: EmbeddedAws) -> Iterator[str]:
    """All of them, each once."""
    repositories = [repository.bucket for repository in config.storage.data_repositories]
    for bucket in {config.storage.lifecycle_bucket, *repositories} - {None}:
        if _bucket(aws, str(bucket)):
            yield f"bucket {bucket}"
    yield from _file_systems(config, aws)
    yield from _workspaces(config, aws)


def _bucket(aws: EmbeddedAws, name: str) -> bool:
    try:
        aws.clients.s3.head_bucket(Bucket=name)
    except ClientError:
        where = {} if aws.region == "us-east-1" else {"LocationConstraint": aws.region}
        settings = {"CreateBucketConfiguration": where} if where else {}
        aws.clients.s3.create_bucket(Bucket=name, **settings)
        return True
    return False


def _file_systems(config: ClusterConfig, aws: EmbeddedAws) -> Iterator[str]:
    network, lustre, home = config.network.existing, config.storage.existing, config.home
    if network is None:
        return
    subnet: dict[str, Any] = {"SubnetIds": [network.private_subnet_id]}
    if lustre and lustre.file_system_id not in aws.fsx.file_systems:
        request = {"FileSystemType": "LUSTRE", "StorageCapacity": 1200, "LustreConfiguration": LUSTRE}
        made = aws.fsx.create_file_system({**request, **subnet}, lustre.file_system_id)
        made.mount_name = lustre.mount_name
        yield f"file system {lustre.file_system_id}"
    if home and home.existing and home.existing.file_system_id not in aws.fsx.file_systems:
        request = {"FileSystemType": "OPENZFS", "StorageCapacity": 64, "OpenZFSConfiguration": OPENZFS}
        aws.fsx.create_file_system({**request, **subnet}, home.existing.file_system_id)
        yield f"file system {home.existing.file_system_id}"


def _workspaces(config: ClusterConfig, aws: EmbeddedAws) -> Iterator[str]:
    wanted = {"aps": config.observability.prometheus, "grafana": config.observability.grafana}
    for service, identity in wanted.items():
        of = aws.workspaces[service]
        if identity in ("none", "create") or identity in of.made:
            continue
        of.made[identity] = Workspace(identity, of.arn(identity), {"AuthenticationProviders": ["SAML"]})
        yield f"workspace {identity}"
