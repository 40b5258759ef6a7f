"""The shared file system: FSx for Lustre of every deployment type.

An L1 construct: CDK's own Lustre construct lacks several of its properties. What a type does not take is not
in the cluster file (unbroken/config/storage.py), so whatever is there is said. The hour of the weekly
maintenance is left to the service, which spreads it.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_fsx
from constructs import Construct

from stacks.network import NetworkStack
from unbroken.config import StorageConfig

_Lustre = aws_fsx.CfnFileSystem.LustreConfigurationProperty


def lustre(
    scope: Construct,
    storage: StorageConfig,
    network: NetworkStack,
    key_arn: str | None,
    removal: RemovalPolicy,
) -> aws_fsx.CfnFileSystem:
    """The file system of the cluster file, in the nodes' subnet and security groups."""
    file_system = aws_fsx.CfnFileSystem(
        scope,
        "FileSystem",
        file_system_type="LUSTRE",
        file_system_type_version=storage.lustre_version,
        storage_type=storage.storage_type,
        storage_capacity=storage.capacity_gib,
        subnet_ids=[network.private_subnet_id],
        security_group_ids=network.security_group_ids,
        kms_key_id=key_arn,
        lustre_configuration=_configuration(storage),
    )
    file_system.apply_removal_policy(removal)
    return file_system


def _configuration(storage: StorageConfig) -> _Lustre:
    backups = storage.backup_days or None
    return _Lustre(
        deployment_type=storage.deployment_type,
        per_unit_storage_throughput=storage.throughput_mbps_per_tib,
        throughput_capacity=storage.throughput_mbps,
        data_compression_type=storage.compression,
        drive_cache_type=storage.drive_cache,
        data_read_cache_configuration=_read_cache(storage),
        metadata_configuration=_metadata(storage),
        efa_enabled=True if storage.efa else None,
        automatic_backup_retention_days=backups,
        copy_tags_to_backups=True if backups else None,  # so that `down` knows them as this cluster's
    )


def _read_cache(storage: StorageConfig) -> aws_fsx.CfnFileSystem.DataReadCacheConfigurationProperty | None:
    if storage.read_cache is None:
        return None
    return aws_fsx.CfnFileSystem.DataReadCacheConfigurationProperty(
        sizing_mode=storage.read_cache.sizing, size_gib=storage.read_cache.gib
    )


def _metadata(storage: StorageConfig) -> aws_fsx.CfnFileSystem.MetadataConfigurationProperty | None:
    if storage.metadata is None:
        return None
    return aws_fsx.CfnFileSystem.MetadataConfigurationProperty(
        mode=storage.metadata.mode, iops=storage.metadata.iops
    )
