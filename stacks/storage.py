"""What outlives a cluster: file systems, the data bucket linked to them, and the bucket of the bundle.

Parts that are brought along are not made; the outputs carry what the cluster file says of them.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_s3
from constructs import Construct

from stacks.base import ClusterStack, removal
from stacks.buckets import lifecycle_bucket_name, private_bucket
from stacks.encryption import Encryption
from stacks.home import home
from stacks.lustre import lustre
from stacks.network import NetworkStack
from stacks.repositories import repositories
from unbroken.config import ClusterConfig
from unbroken.render import FileSystems


class StorageStack(ClusterStack):
    """``file_systems``, ``data_bucket_name`` and ``lifecycle_bucket_name`` are for the cluster stack."""

    def __init__(
        self, scope: Construct, config: ClusterConfig, network: NetworkStack, encryption: Encryption
    ) -> None:
        super().__init__(scope, "storage", config, "Storage")
        self._config, self._network, self._key_arn = config, network, encryption.key_arn
        self.lifecycle_bucket_name = self._lifecycle_bucket()
        data_bucket = self._data_bucket()
        self.data_bucket_name = data_bucket.bucket_name if data_bucket else None
        file_system_id, dns_name, mount_name = self._file_system(data_bucket)
        home_id, home_dns_name = self._home()
        self.file_systems = FileSystems(dns_name, mount_name, home_dns_name)
        self._tell(
            {
                "FileSystemId": file_system_id,
                "FileSystemDnsName": dns_name,
                "FileSystemMountName": mount_name,
                "DataBucketName": self.data_bucket_name,
                "LifecycleBucketName": self.lifecycle_bucket_name,
                "HomeFileSystemId": home_id,
                "HomeDnsName": home_dns_name,
                "KmsKeyArn": self._key_arn,
            }
        )

    def _tell(self, values: dict[str, str | None]) -> None:
        self.outputs({name: value for name, value in values.items() if value is not None})

    def _file_system(self, data_bucket: aws_s3.Bucket | None) -> tuple[str, str, str]:
        """Id, DNS name and mount name of the shared file system. One that is there keeps its own links."""
        storage = self._config.storage
        if storage.existing:
            return storage.existing.file_system_id, storage.existing.dns_name, storage.existing.mount_name
        policy = removal(storage.deletion)
        made = lustre(self, storage, self._network, self._key_arn, policy)
        repositories(self, made, storage.data_repositories, data_bucket, policy)
        return made.ref, made.attr_dns_name, made.attr_lustre_mount_name

    def _home(self) -> tuple[str | None, str | None]:
        """Id and DNS name of the file system for home directories, if there is one."""
        section = self._config.home
        if section is None:
            return None, None
        if section.existing:
            return section.existing.file_system_id, section.existing.dns_name
        made = home(self, self._config, section, self._network, self._key_arn)
        return made.ref, made.attr_dns_name

    def _data_bucket(self) -> aws_s3.Bucket | None:
        """The cluster's own, if a folder mirrors it."""
        if not self._config.storage.makes_bucket:
            return None
        return private_bucket(
            self,
            "DataBucket",
            removal=removal(self._config.storage.deletion),
            versioned=True,
            key_arn=self._key_arn,
        )

    def _lifecycle_bucket(self) -> str:
        """Holds nothing but what can be rendered again, so it always goes with its stack."""
        name = lifecycle_bucket_name(self._config, self.account)
        if not self._config.storage.lifecycle_bucket:
            private_bucket(
                self,
                "LifecycleBucket",
                removal=RemovalPolicy.DESTROY,
                versioned=False,
                key_arn=self._key_arn,
                bucket_name=name,
            )
        return name
