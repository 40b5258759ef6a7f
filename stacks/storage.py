"""FSx for Lustre, the data bucket linked to it, and the bucket of the lifecycle bundle.

L1 constructs for FSx: CDK's own Lustre construct lacks several of its properties.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_fsx
from constructs import Construct

from stacks.base import ClusterStack, data_removal
from stacks.buckets import lifecycle_bucket_name, private_bucket
from stacks.network import NetworkStack
from unbroken.config import ClusterConfig, StorageConfig

_EVENTS = ["NEW", "CHANGED", "DELETED"]


class StorageStack(ClusterStack):
    """What outlives a cluster."""

    def __init__(self, scope: Construct, config: ClusterConfig, network: NetworkStack) -> None:
        super().__init__(scope, "storage", config, "Storage")
        removal = data_removal(config)
        self.data_bucket = private_bucket(self, "DataBucket", removal=removal, versioned=True)
        self.lifecycle_bucket = private_bucket(
            self,
            "LifecycleBucket",
            removal=RemovalPolicy.DESTROY,
            versioned=False,
            bucket_name=lifecycle_bucket_name(config, self.account),
        )
        self.file_system = self._file_system(config.storage, network, removal)
        self._link(config.storage, removal)
        self.outputs(
            {
                "FileSystemId": self.file_system.ref,
                "FileSystemDnsName": self.file_system.attr_dns_name,
                "FileSystemMountName": self.file_system.attr_lustre_mount_name,
                "DataBucketName": self.data_bucket.bucket_name,
                "LifecycleBucketName": self.lifecycle_bucket.bucket_name,
            }
        )

    def _file_system(
        self, storage: StorageConfig, network: NetworkStack, removal: RemovalPolicy
    ) -> aws_fsx.CfnFileSystem:
        file_system = aws_fsx.CfnFileSystem(
            self,
            "FileSystem",
            file_system_type="LUSTRE",
            file_system_type_version="2.15",
            storage_type="SSD",
            storage_capacity=storage.capacity_gib,
            subnet_ids=[network.private_subnet.ref],
            security_group_ids=[network.security_group.attr_group_id],
            lustre_configuration=aws_fsx.CfnFileSystem.LustreConfigurationProperty(
                deployment_type="PERSISTENT_2",
                per_unit_storage_throughput=storage.throughput_mbps_per_tib,
                data_compression_type=storage.compression,
            ),
        )
        file_system.apply_removal_policy(removal)
        return file_system

    def _link(self, storage: StorageConfig, removal: RemovalPolicy) -> None:
        """Changes on either side reach the other; PERSISTENT_2 has no older way to do this."""
        link = aws_fsx.CfnDataRepositoryAssociation(
            self,
            "DataLink",
            file_system_id=self.file_system.ref,
            file_system_path=storage.data_repositories[0].path,
            data_repository_path=f"s3://{self.data_bucket.bucket_name}",
            batch_import_meta_data_on_create=True,
            s3=aws_fsx.CfnDataRepositoryAssociation.S3Property(
                auto_import_policy=aws_fsx.CfnDataRepositoryAssociation.AutoImportPolicyProperty(
                    events=_EVENTS
                ),
                auto_export_policy=aws_fsx.CfnDataRepositoryAssociation.AutoExportPolicyProperty(
                    events=_EVENTS
                ),
            ),
        )
        link.apply_removal_policy(removal)
        # The link is checked against the bucket as it is made, so the bucket's policy comes first; it
        # goes before the bucket is emptied, or exports would fill that again.
        link.node.add_dependency(self.data_bucket)
