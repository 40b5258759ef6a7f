"""Home directories on FSx for OpenZFS."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_fsx
from constructs import Construct

from stacks.base import removal
from stacks.network import NetworkStack
from unbroken.config import ClusterConfig, HomeConfig, NetworkConfig

_OpenZfs = aws_fsx.CfnFileSystem.OpenZFSConfigurationProperty


def home(
    scope: Construct, config: ClusterConfig, section: HomeConfig, network: NetworkStack, key_arn: str | None
) -> aws_fsx.CfnFileSystem:
    """The file system; nodes mount its root volume."""
    policy = removal(section.deletion)
    file_system = aws_fsx.CfnFileSystem(
        scope,
        "Home",
        file_system_type="OPENZFS",
        storage_type="SSD",
        storage_capacity=section.capacity_gib,
        subnet_ids=[network.private_subnet_id],
        security_group_ids=network.security_group_ids,
        kms_key_id=key_arn,
        open_zfs_configuration=_configuration(section, config.network, policy),
    )
    file_system.apply_removal_policy(policy)
    return file_system


def _configuration(section: HomeConfig, network: NetworkConfig, policy: RemovalPolicy) -> _OpenZfs:
    goes = policy is RemovalPolicy.DESTROY
    return _OpenZfs(
        deployment_type=section.deployment_type,
        throughput_capacity=section.throughput_mbps,
        automatic_backup_retention_days=section.backup_days,
        copy_tags_to_backups=True,  # so that `down` knows them as this cluster's
        # Snapshots that people made would else keep the file system from being deleted.
        options=["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"] if goes else None,
        root_volume_configuration=aws_fsx.CfnFileSystem.RootVolumeConfigurationProperty(
            data_compression_type=section.compression,
            nfs_exports=[aws_fsx.CfnFileSystem.NfsExportsProperty(client_configurations=[_clients(network)])],
        ),
    )


def _clients(network: NetworkConfig) -> aws_fsx.CfnFileSystem.ClientConfigurationsProperty:
    """Nodes make each user's directory as root, so root is not squashed; only the VPC is a client."""
    return aws_fsx.CfnFileSystem.ClientConfigurationsProperty(
        clients=network.vpc_cidr, options=["rw", "sync", "no_root_squash"]
    )
