"""The HyperPod cluster and the files its nodes start from."""

from __future__ import annotations

from aws_cdk import aws_sagemaker
from constructs import Construct

from stacks.base import ClusterStack
from stacks.encryption import Encryption
from stacks.identity import IdentityStack
from stacks.lookups import Lookups
from stacks.network import NetworkStack
from stacks.storage import StorageStack
from stacks.uploads import Uploads
from unbroken.config import ClusterConfig
from unbroken.render import FileSystems, Surroundings, create_cluster


class HyperPodStack(ClusterStack):
    """Can be destroyed and made again without touching data."""

    def __init__(
        self,
        scope: Construct,
        config: ClusterConfig,
        network: NetworkStack,
        storage: StorageStack,
        identity: IdentityStack,
        encryption: Encryption,
    ) -> None:
        super().__init__(scope, "cluster", config, "Instance groups and lifecycle bundle")
        for stack in (network, storage, identity):  # also where all of its values are in the cluster file
            self.add_stack_dependency(stack)
        self._config = config
        self._once = Lookups(self, "Lookup").once
        uploads = Uploads(self, "Uploads", config, storage, encryption.key_arn)
        around = Surroundings(
            execution_role_arn=self._once("ExecutionRole", identity.role_arn),
            private_subnet_id=network.private_subnet_id,
            security_group_ids=self._security_groups(network),
            lifecycle_uri=uploads.lifecycle_uri,
            file_systems=self._file_systems(storage.file_systems),
            key_arn=self._once("Key", encryption.key_arn) if encryption.key_arn else None,
            subnet_ids={one.name: network.subnet_id(one.name) for one in config.network.subnets},
        )
        self.cluster = self._cluster(around)
        self.cluster.node.add_dependency(uploads)  # nodes fetch the bundle as soon as they exist
        self.outputs(
            {
                "ClusterName": config.name,
                "ClusterArn": self.cluster.attr_cluster_arn,
                "LifecycleUri": uploads.lifecycle_uri,
            }
        )

    def _cluster(self, around: Surroundings) -> aws_sagemaker.CfnCluster:
        """The request that the API would take, since CloudFormation's properties have the same names."""
        cluster = aws_sagemaker.CfnCluster(self, "Cluster")
        for name, value in create_cluster(self._config, around).items():
            cluster.add_property_override(name, value)
        return cluster

    def _security_groups(self, network: NetworkStack) -> list[str]:
        """Named once, and again in every group that has further ones or a subnet of its own."""
        own = any(group.subnet or group.security_group_ids for group in self._config.groups())
        ids = network.security_group_ids
        return [self._once(f"SecurityGroup{n}", value) for n, value in enumerate(ids)] if own else ids

    def _file_systems(self, systems: FileSystems) -> FileSystems:
        """In ``api`` mode every group names them."""
        if self._config.slurm.mode != "api":
            return systems
        home = systems.home_dns_name
        return FileSystems(
            self._once("FileSystemDnsName", systems.fsx_dns_name),
            self._once("FileSystemMountName", systems.fsx_mount_name),
            self._once("HomeDnsName", home) if home else None,
        )
