"""Where nodes and file systems are: a VPC of the cluster's own, or what was brought along.

L1 constructs: they take zones by id (the same zone in every account), and bring no custom resource.
"""

from __future__ import annotations

from aws_cdk import Fn, RemovalPolicy, aws_ec2
from constructs import Construct

from stacks.base import ClusterStack, removal
from stacks.encryption import Encryption
from stacks.endpoints import interface_endpoints, s3_endpoint
from stacks.flow_logs import flow_logs
from stacks.security_groups import SelfGroup
from stacks.subnets import PrivateSubnets, PublicSide, subnet
from unbroken.config import ClusterConfig
from unbroken.render.hyperpod_files import subnet_output


class NetworkStack(ClusterStack):
    """``vpc_id``, ``private_subnet_id`` and ``security_group_ids`` are the cluster's, made here or not."""

    def __init__(self, scope: Construct, config: ClusterConfig, encryption: Encryption) -> None:
        super().__init__(scope, "network", config, "Network")
        self._subnet_ids: dict[str, str] = {}
        existing = config.network.existing
        if existing is None:
            self._make(config, encryption)
        else:
            self.vpc_id, self.private_subnet_id = existing.vpc_id, existing.private_subnet_id
            self.security_group_ids = list(existing.security_group_ids) or [self._group(config).id]
        self._output()

    def subnet_id(self, subnet: str | None) -> str:
        """A group's ``subnet``: none (the private one), a name from ``network.subnets``, or an id."""
        if subnet is None:
            return self.private_subnet_id
        return self._subnet_ids.get(subnet, subnet)

    def _make(self, config: ClusterConfig, encryption: Encryption) -> None:
        network = config.network
        # FSx and VPC endpoints are reached by name, so the VPC resolves and hands out names.
        vpc = aws_ec2.CfnVPC(
            self, "Vpc", cidr_block=network.vpc_cidr, enable_dns_hostnames=True, enable_dns_support=True
        )
        private = subnet(
            self, "PrivateSubnet", vpc, network.private_subnet_cidr, network.availability_zone_id
        )
        self.vpc_id, self.private_subnet_id = vpc.ref, private.ref
        group = self._group(config)
        self.security_group_ids = [group.id]
        nat = None if network.no_internet else PublicSide(self, network, vpc).nat
        subnets = PrivateSubnets(self, network, vpc, private, nat)
        self._subnet_ids = subnets.ids
        s3_endpoint(self, vpc, subnets.route_tables)
        if network.no_internet:
            interface_endpoints(self, config, vpc, private, group)
        if network.flow_logs:
            flow_logs(self, config, vpc, encryption)
        for resource in (vpc, private):
            resource.apply_removal_policy(_kept_with_file_systems(config))

    def _group(self, config: ClusterConfig) -> SelfGroup:
        group = SelfGroup(self, self.vpc_id, to_plain_http=not config.network.no_internet)
        group.apply_removal_policy(_kept_with_file_systems(config))
        return group

    def _output(self) -> None:
        self.outputs(
            {
                "VpcId": self.vpc_id,
                "PrivateSubnetId": self.private_subnet_id,
                "SecurityGroupId": Fn.join(",", self.security_group_ids),
            }
            | {subnet_output(name): id_ for name, id_ in self._subnet_ids.items()}
        )


def _kept_with_file_systems(config: ClusterConfig) -> RemovalPolicy:
    """A file system that is kept has interfaces in this subnet and group, so these cannot go either."""
    kept = config.storage.kept or (config.home is not None and config.home.kept)
    return removal("retain" if kept else "delete")
