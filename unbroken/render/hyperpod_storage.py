"""A group's InstanceStorageConfigs: its volumes and, in api mode, the file systems HyperPod mounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unbroken.config import ClusterConfig, InstanceGroup


@dataclass(frozen=True)
class FileSystems:
    """Where the shared file systems are reached, as plain strings or CDK tokens."""

    fsx_dns_name: str
    fsx_mount_name: str
    home_dns_name: str | None = None
    """Only with a ``home`` section."""


def storage_configs(
    config: ClusterConfig, group: InstanceGroup, file_systems: FileSystems, key_arn: str | None
) -> list[dict[str, Any]]:
    """Root volume, volume at /opt/sagemaker, and the mounts; the API takes four at most, one of a kind."""
    volumes = _volumes(group, group.volume_kms_key or key_arn)
    return volumes + (_mounts(config, file_systems) if config.slurm.mode == "api" else [])


def _volumes(group: InstanceGroup, key_arn: str | None) -> list[dict[str, Any]]:
    """The root volume is named for its key alone: its size is the service's (API reference)."""
    root = [{"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": key_arn}}] if key_arn else []
    if group.ebs_gib is None:
        return root
    key = {"VolumeKmsKeyId": key_arn} if key_arn else {}
    return [*root, {"EbsVolumeConfig": {"VolumeSizeInGB": group.ebs_gib, **key}}]


def _mounts(config: ClusterConfig, file_systems: FileSystems) -> list[dict[str, Any]]:
    shared = {
        "DnsName": file_systems.fsx_dns_name,
        "MountName": file_systems.fsx_mount_name,
        "MountPath": config.storage.mount_path,
    }
    mounts: list[dict[str, Any]] = [{"FsxLustreConfig": shared}]
    if config.home and file_systems.home_dns_name:
        home = {"DnsName": file_systems.home_dns_name, "MountPath": config.home.mount_path}
        mounts.append({"FsxOpenZfsConfig": home})
    return mounts
