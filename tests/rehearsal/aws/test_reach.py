"""What nodes in a subnet reach: by a NAT gateway everything, by endpoints single services, else nothing."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from typing import Any

import pytest

from tests.rehearsal.aws.node_side import LOOPBACK
from unbroken.rehearsal.aws.gateway.apis import NodeApis
from unbroken.rehearsal.aws.gateway.http import Answer
from unbroken.rehearsal.composition import Rehearsal

Client = Callable[[str], Any]


class Vpc:
    """A VPC with one subnet and a route table of its own."""

    def __init__(self, ec2: Any) -> None:
        self.ec2 = ec2
        self.vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        self.subnet = ec2.create_subnet(VpcId=self.vpc, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]
        self.table = ec2.create_route_table(VpcId=self.vpc)["RouteTable"]["RouteTableId"]
        ec2.associate_route_table(RouteTableId=self.table, SubnetId=self.subnet)

    def gateway(self) -> str:
        """An internet gateway of this VPC."""
        made = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=self.vpc)
        return str(made)

    def route(self, **target: str) -> None:
        self.ec2.create_route(RouteTableId=self.table, DestinationCidrBlock="0.0.0.0/0", **target)


@pytest.fixture
def vpc(client: Client) -> Vpc:
    return Vpc(client("ec2"))


def test_a_subnet_without_a_way_out_reaches_nothing(rehearsal: Rehearsal, vpc: Vpc) -> None:
    found = rehearsal.store.reach(vpc.subnet)
    assert not found.internet and "s3" not in found and "logs" not in found
    assert "s3" not in rehearsal.store.reach("subnet-00000000000000000")


def test_a_nat_gateway_leads_everywhere_and_an_internet_gateway_alone_nowhere(
    rehearsal: Rehearsal, vpc: Vpc
) -> None:
    gateway = vpc.gateway()
    vpc.route(GatewayId=gateway)
    assert "s3" not in rehearsal.store.reach(vpc.subnet), "a node has no public address"
    vpc.ec2.delete_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0")
    address = vpc.ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = vpc.ec2.create_nat_gateway(SubnetId=vpc.subnet, AllocationId=address)["NatGateway"]["NatGatewayId"]
    vpc.route(NatGatewayId=nat)
    found = rehearsal.store.reach(vpc.subnet)
    assert "s3" in found and "secretsmanager" in found


def test_an_s3_endpoint_serves_the_tables_it_is_in(rehearsal: Rehearsal, vpc: Vpc) -> None:
    service = "com.amazonaws.us-west-2.s3"
    made = vpc.ec2.create_vpc_endpoint(VpcId=vpc.vpc, ServiceName=service, VpcEndpointType="Gateway")
    assert "s3" not in rehearsal.store.reach(vpc.subnet)
    endpoint = made["VpcEndpoint"]["VpcEndpointId"]
    vpc.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, AddRouteTableIds=[vpc.table])
    found = rehearsal.store.reach(vpc.subnet)
    assert "s3" in found and "logs" not in found


def test_an_interface_endpoint_serves_its_vpc(rehearsal: Rehearsal, vpc: Vpc, client: Client) -> None:
    other = Vpc(client("ec2"))
    service = "com.amazonaws.us-west-2.logs"
    vpc.ec2.create_vpc_endpoint(
        VpcId=vpc.vpc, ServiceName=service, VpcEndpointType="Interface", SubnetIds=[vpc.subnet]
    )
    assert "logs" in rehearsal.store.reach(vpc.subnet)
    assert "logs" not in rehearsal.store.reach(other.subnet)


@pytest.mark.behaviour("HP260")
def test_a_node_without_a_way_gets_no_answer_at_all(
    rehearsal: Rehearsal, serve: Callable[[Answer], int]
) -> None:
    apis = NodeApis(rehearsal.aws.port, rehearsal.sessions, rehearsal.permissions, lambda *_: False)
    connection = http.client.HTTPConnection(LOOPBACK, serve(apis), timeout=5)
    connection.request("GET", "/", headers={"Host": "s3.us-west-2.amazonaws.com"})
    with pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()
    connection.close()
