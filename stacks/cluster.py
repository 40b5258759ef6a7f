"""The HyperPod cluster and the files its nodes start from."""

from __future__ import annotations

from aws_cdk import aws_sagemaker
from constructs import Construct

from stacks.base import ClusterStack
from stacks.identity import IdentityStack
from stacks.network import NetworkStack
from stacks.storage import StorageStack
from stacks.uploads import Uploads
from unbroken.config import ClusterConfig, InstanceGroup

ON_CREATE = "on_create.sh"


class HyperPodStack(ClusterStack):
    """Can be destroyed and made again without touching data."""

    def __init__(
        self,
        scope: Construct,
        config: ClusterConfig,
        network: NetworkStack,
        storage: StorageStack,
        identity: IdentityStack,
    ) -> None:
        super().__init__(scope, "cluster", config, "Instance groups and lifecycle bundle")
        self._uploads = Uploads(self, "Uploads", config, storage)
        self._role_arn = identity.role.role_arn
        self.cluster = aws_sagemaker.CfnCluster(
            self,
            "Cluster",
            cluster_name=config.name,
            node_recovery=config.node_recovery,
            instance_groups=[self._group(group) for group in config.groups()],
            vpc_config=aws_sagemaker.CfnCluster.VpcConfigProperty(
                security_group_ids=[network.security_group.attr_group_id],
                subnets=[network.private_subnet.ref],
            ),
        )
        # Nodes fetch the bundle as soon as they exist.
        self.cluster.node.add_dependency(self._uploads)
        self.outputs({"ClusterName": config.name, "ClusterArn": self.cluster.attr_cluster_arn})

    def _group(self, group: InstanceGroup) -> aws_sagemaker.CfnCluster.ClusterInstanceGroupProperty:
        """ThreadsPerCore is always said: left out of an update, the service sets it back."""
        return aws_sagemaker.CfnCluster.ClusterInstanceGroupProperty(
            instance_group_name=group.name,
            instance_type=group.instance_type,
            instance_count=group.num_instances,
            threads_per_core=group.threads_per_core,
            execution_role=self._role_arn,
            life_cycle_config=aws_sagemaker.CfnCluster.ClusterLifeCycleConfigProperty(
                source_s3_uri=self._uploads.lifecycle_uri, on_create=ON_CREATE
            ),
            instance_storage_configs=_volumes(group),
        )


def _volumes(
    group: InstanceGroup,
) -> list[aws_sagemaker.CfnCluster.ClusterInstanceStorageConfigProperty] | None:
    if group.ebs_gib is None:
        return None
    volume = aws_sagemaker.CfnCluster.ClusterEbsVolumeConfigProperty(volume_size_in_gb=group.ebs_gib)
    return [aws_sagemaker.CfnCluster.ClusterInstanceStorageConfigProperty(ebs_volume_config=volume)]
