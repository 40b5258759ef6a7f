"""VPC, subnets, NAT, S3 endpoint, flow logs and the security group of nodes and file system.

L1 constructs: they take the zone by id (the same zone in every account), and bring no custom resource.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_ec2, aws_iam, aws_logs
from constructs import Construct

from stacks.base import ClusterStack, data_removal
from unbroken.config import ClusterConfig, NetworkConfig

ANYWHERE = "0.0.0.0/0"
ALL_PROTOCOLS = "-1"


class NetworkStack(ClusterStack):
    """One public and one private subnet in one zone."""

    def __init__(self, scope: Construct, config: ClusterConfig) -> None:
        super().__init__(scope, "network", config, "Network")
        self._network: NetworkConfig = config.network
        self.vpc = self._vpc(config.network.vpc_cidr)
        self.private_subnet = self._subnet("Private", config.network.private_subnet_cidr)
        self.security_group = self._security_group()
        self._public_side()
        self._s3_endpoint()
        self._flow_logs(config)
        self._keep_with_data(data_removal(config))
        self.outputs(
            {
                "VpcId": self.vpc.ref,
                "PrivateSubnetId": self.private_subnet.ref,
                "SecurityGroupId": self.security_group.attr_group_id,
            }
        )

    def _vpc(self, cidr: str) -> aws_ec2.CfnVPC:
        # FSx is reached by name, so the VPC resolves and hands out names.
        return aws_ec2.CfnVPC(
            self, "Vpc", cidr_block=cidr, enable_dns_hostnames=True, enable_dns_support=True
        )

    def _subnet(self, side: str, cidr: str) -> aws_ec2.CfnSubnet:
        return aws_ec2.CfnSubnet(
            self,
            f"{side}Subnet",
            vpc_id=self.vpc.ref,
            cidr_block=cidr,
            availability_zone_id=self._network.availability_zone_id,
            map_public_ip_on_launch=False,
        )

    def _public_side(self) -> None:
        """Internet gateway, NAT gateway and the routes that lead to them."""
        gateway = aws_ec2.CfnInternetGateway(self, "InternetGateway")
        attachment = aws_ec2.CfnVPCGatewayAttachment(
            self, "InternetGatewayAttachment", vpc_id=self.vpc.ref, internet_gateway_id=gateway.ref
        )
        public_subnet = self._subnet("Public", self._network.public_subnet_cidr)
        public_routes = self._route_table("Public", public_subnet)
        public_route = aws_ec2.CfnRoute(
            self,
            "PublicRoute",
            route_table_id=public_routes.ref,
            destination_cidr_block=ANYWHERE,
            gateway_id=gateway.ref,
        )
        address = aws_ec2.CfnEIP(self, "NatAddress", domain="vpc")
        nat = aws_ec2.CfnNatGateway(
            self, "NatGateway", subnet_id=public_subnet.ref, allocation_id=address.attr_allocation_id
        )
        # An address and a route need the gateway attached; on the way down they must go before it.
        for resource in (address, public_route):
            resource.node.add_dependency(attachment)
        nat.node.add_dependency(public_route)
        self._private_routes = self._route_table("Private", self.private_subnet)
        aws_ec2.CfnRoute(
            self,
            "PrivateRoute",
            route_table_id=self._private_routes.ref,
            destination_cidr_block=ANYWHERE,
            nat_gateway_id=nat.ref,
        )

    def _route_table(self, side: str, subnet: aws_ec2.CfnSubnet) -> aws_ec2.CfnRouteTable:
        table = aws_ec2.CfnRouteTable(self, f"{side}Routes", vpc_id=self.vpc.ref)
        aws_ec2.CfnSubnetRouteTableAssociation(
            self, f"{side}RoutesAssociation", route_table_id=table.ref, subnet_id=subnet.ref
        )
        return table

    def _s3_endpoint(self) -> None:
        """Bundles, data and checkpoints go to S3 past the NAT gateway, which is charged by the gigabyte."""
        aws_ec2.CfnVPCEndpoint(
            self,
            "S3Endpoint",
            vpc_id=self.vpc.ref,
            service_name=f"com.amazonaws.{self.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[self._private_routes.ref],
        )

    def _security_group(self) -> aws_ec2.CfnSecurityGroup:
        """Nodes and file system reach each other by everything, the world by HTTP(S) only.

        EFA packets are neither IPv4 nor IPv6, so only a rule that names the group itself lets them pass, and
        it must stand in both directions (SageMaker developer guide, "Setting up HyperPod with a custom VPC").
        """
        group = aws_ec2.CfnSecurityGroup(
            self,
            "SecurityGroup",
            group_description="Nodes and file system of one HyperPod cluster",
            vpc_id=self.vpc.ref,
            security_group_egress=[
                _egress(443, "AWS APIs, package mirrors and model hubs"),
                _egress(80, "Package mirrors that have no HTTPS"),
            ],
        )
        self._self_rules = [
            aws_ec2.CfnSecurityGroupIngress(
                self,
                "SelfIngress",
                group_id=group.attr_group_id,
                source_security_group_id=group.attr_group_id,
                ip_protocol=ALL_PROTOCOLS,
                description="All traffic, EFA included, from the group itself",
            ),
            aws_ec2.CfnSecurityGroupEgress(
                self,
                "SelfEgress",
                group_id=group.attr_group_id,
                destination_security_group_id=group.attr_group_id,
                ip_protocol=ALL_PROTOCOLS,
                description="All traffic, EFA included, to the group itself",
            ),
        ]
        return group

    def _flow_logs(self, config: ClusterConfig) -> None:
        """Flow logs arrive only if the role names the very group they go to, so both are one Ref."""
        group = aws_logs.CfnLogGroup(self, "FlowLogGroup", retention_in_days=config.logs.retention_days)
        group.apply_removal_policy(RemovalPolicy.DESTROY)
        aws_ec2.CfnFlowLog(
            self,
            "FlowLog",
            resource_type="VPC",
            resource_id=self.vpc.ref,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_group_name=group.ref,
            deliver_logs_permission_arn=self._flow_log_role(group).role_arn,
        )

    def _flow_log_role(self, group: aws_logs.CfnLogGroup) -> aws_iam.Role:
        """May write to that group and nothing else; it cannot make the group again once it is deleted."""
        account = {"StringEquals": {"aws:SourceAccount": self.account}}
        write = aws_iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            resources=[group.attr_arn],  # ends in :*, which stands for the group's streams
        )
        find = aws_iam.PolicyStatement(actions=["logs:DescribeLogGroups"], resources=["*"])
        return aws_iam.Role(
            self,
            "FlowLogRole",
            assumed_by=aws_iam.ServicePrincipal("vpc-flow-logs.amazonaws.com", conditions=account),
            inline_policies={"deliver": aws_iam.PolicyDocument(statements=[write, find])},
        )

    def _keep_with_data(self, removal: RemovalPolicy) -> None:
        """A file system that is kept has interfaces in this subnet and group, so these cannot go either."""
        for resource in (self.vpc, self.private_subnet, self.security_group, *self._self_rules):
            resource.apply_removal_policy(removal)


def _egress(port: int, description: str) -> aws_ec2.CfnSecurityGroup.EgressProperty:
    return aws_ec2.CfnSecurityGroup.EgressProperty(
        ip_protocol="tcp", from_port=port, to_port=port, cidr_ip=ANYWHERE, description=description
    )
