"""The group of nodes and file systems, and the group of the interface endpoints.

The VPC's default group is left as it is: nothing is put into it, and CloudFormation cannot take its rules
away without a function of its own.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_ec2
from constructs import Construct

from stacks.subnets import ANYWHERE

ALL_PROTOCOLS = "-1"


class SelfGroup:
    """Members reach each other by everything, the world by HTTPS (and HTTP, for mirrors that have no more).

    EFA packets are neither IPv4 nor IPv6, so only a rule that names the group itself lets them pass, and it
    must stand in both directions (SageMaker developer guide, "Setting up HyperPod with a custom VPC"). The
    same rules carry Lustre's ports, 988 and 1018-1023, and NFS's.
    """

    def __init__(self, scope: Construct, vpc_id: str, *, to_plain_http: bool) -> None:
        # Without a way out these reach S3 and nothing else: its addresses, behind the endpoint, are public.
        egress = [_egress(443, "AWS APIs, package mirrors and model hubs")]
        if to_plain_http:
            egress.append(_egress(80, "Package mirrors that have no HTTPS"))
        group = aws_ec2.CfnSecurityGroup(
            scope,
            "SecurityGroup",
            group_description="Nodes and file system of one HyperPod cluster",
            vpc_id=vpc_id,
            security_group_egress=egress,
        )
        self.id = group.attr_group_id
        self._resources = [group, *_self_rules(scope, self.id)]

    def apply_removal_policy(self, policy: RemovalPolicy) -> None:
        """To the group and its rules alike."""
        for resource in self._resources:
            resource.apply_removal_policy(policy)


def endpoint_group(scope: Construct, vpc: aws_ec2.CfnVPC, members: SelfGroup) -> aws_ec2.CfnSecurityGroup:
    """The interface endpoints' group: reached over HTTPS by the nodes' group only, and reaching nothing."""
    return aws_ec2.CfnSecurityGroup(
        scope,
        "EndpointGroup",
        group_description="Interface endpoints of one HyperPod cluster",
        vpc_id=vpc.ref,
        security_group_ingress=[
            aws_ec2.CfnSecurityGroup.IngressProperty(
                ip_protocol="tcp",
                from_port=443,
                to_port=443,
                source_security_group_id=members.id,
                description="Nodes",
            )
        ],
        # Without any rule, EC2 adds one that allows everything. Endpoints begin no connection.
        security_group_egress=[
            aws_ec2.CfnSecurityGroup.EgressProperty(
                ip_protocol="icmp",
                from_port=252,
                to_port=86,
                cidr_ip="255.255.255.255/32",
                description="Nothing",
            )
        ],
    )


def _self_rules(
    scope: Construct, group_id: str
) -> tuple[aws_ec2.CfnSecurityGroupIngress, aws_ec2.CfnSecurityGroupEgress]:
    return (
        aws_ec2.CfnSecurityGroupIngress(
            scope,
            "SelfIngress",
            group_id=group_id,
            source_security_group_id=group_id,
            ip_protocol=ALL_PROTOCOLS,
            description="All traffic, EFA included, from the group itself",
        ),
        aws_ec2.CfnSecurityGroupEgress(
            scope,
            "SelfEgress",
            group_id=group_id,
            destination_security_group_id=group_id,
            ip_protocol=ALL_PROTOCOLS,
            description="All traffic, EFA included, to the group itself",
        ),
    )


def _egress(port: int, description: str) -> aws_ec2.CfnSecurityGroup.EgressProperty:
    return aws_ec2.CfnSecurityGroup.EgressProperty(
        ip_protocol="tcp", from_port=port, to_port=port, cidr_ip=ANYWHERE, description=description
    )
