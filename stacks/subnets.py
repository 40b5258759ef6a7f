"""Subnets, and how traffic leaves them."""

from __future__ import annotations

from aws_cdk import aws_ec2
from constructs import Construct

from unbroken.config import NetworkConfig

ANYWHERE = "0.0.0.0/0"


def subnet(scope: Construct, name: str, vpc: aws_ec2.CfnVPC, cidr: str, zone_id: str) -> aws_ec2.CfnSubnet:
    """Nothing in it gets a public address."""
    return aws_ec2.CfnSubnet(
        scope,
        name,
        vpc_id=vpc.ref,
        cidr_block=cidr,
        availability_zone_id=zone_id,
        map_public_ip_on_launch=False,
    )


class PublicSide:
    """Internet gateway, NAT gateway and the routes that lead to them."""

    def __init__(self, scope: Construct, network: NetworkConfig, vpc: aws_ec2.CfnVPC) -> None:
        gateway = aws_ec2.CfnInternetGateway(scope, "InternetGateway")
        attachment = aws_ec2.CfnVPCGatewayAttachment(
            scope, "InternetGatewayAttachment", vpc_id=vpc.ref, internet_gateway_id=gateway.ref
        )
        public = subnet(scope, "PublicSubnet", vpc, network.public_subnet_cidr, network.availability_zone_id)
        routes = _route_table(scope, "Public", vpc, public)
        route = _default_route(scope, "PublicRoute", routes, gateway_id=gateway.ref)
        address = aws_ec2.CfnEIP(scope, "NatAddress", domain="vpc")
        # An address and a route need the gateway attached; on the way down they must go before it.
        for resource in (address, route):
            resource.node.add_dependency(attachment)
        self.nat = aws_ec2.CfnNatGateway(
            scope, "NatGateway", subnet_id=public.ref, allocation_id=address.attr_allocation_id
        )
        self.nat.node.add_dependency(route)


class PrivateSubnets:
    """Route tables of the private subnet and of further ones in other zones; ``ids`` are the latter's.

    All leave through the one NAT gateway, if there is any: traffic from another zone crosses over to it.
    """

    def __init__(
        self,
        scope: Construct,
        network: NetworkConfig,
        vpc: aws_ec2.CfnVPC,
        private: aws_ec2.CfnSubnet,
        nat: aws_ec2.CfnNatGateway | None,
    ) -> None:
        self.ids: dict[str, str] = {}
        self.route_tables = [self._routes(scope, "Private", vpc, private, nat)]
        further = Construct(scope, "Subnets")
        for each in network.subnets:
            place = Construct(further, each.name)
            made = subnet(place, "Subnet", vpc, each.cidr, each.availability_zone_id)
            self.ids[each.name] = made.ref
            self.route_tables.append(self._routes(place, "", vpc, made, nat))

    def _routes(
        self,
        scope: Construct,
        side: str,
        vpc: aws_ec2.CfnVPC,
        where: aws_ec2.CfnSubnet,
        nat: aws_ec2.CfnNatGateway | None,
    ) -> aws_ec2.CfnRouteTable:
        table = _route_table(scope, side, vpc, where)
        if nat is not None:
            _default_route(scope, f"{side}Route", table, nat_gateway_id=nat.ref)
        return table


def _route_table(
    scope: Construct, side: str, vpc: aws_ec2.CfnVPC, where: aws_ec2.CfnSubnet
) -> aws_ec2.CfnRouteTable:
    table = aws_ec2.CfnRouteTable(scope, f"{side}Routes", vpc_id=vpc.ref)
    aws_ec2.CfnSubnetRouteTableAssociation(
        scope, f"{side}RoutesAssociation", route_table_id=table.ref, subnet_id=where.ref
    )
    return table


def _default_route(
    scope: Construct,
    name: str,
    table: aws_ec2.CfnRouteTable,
    *,
    gateway_id: str | None = None,
    nat_gateway_id: str | None = None,
) -> aws_ec2.CfnRoute:
    return aws_ec2.CfnRoute(
        scope,
        name,
        route_table_id=table.ref,
        destination_cidr_block=ANYWHERE,
        gateway_id=gateway_id,
        nat_gateway_id=nat_gateway_id,
    )
