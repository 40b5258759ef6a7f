"""CloudFormation's AWS::EC2::VPCEndpoint and AWS::EC2::VPCCidrBlock, through EC2's API."""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.ec2.resources import Retaggable, gone, tag_specifications
from unbroken.rehearsal.aws.handlers import Handler, Properties, Resource, ResourceError


def handlers(clients: Clients) -> list[Handler]:
    """Both types."""
    return [VpcEndpoint(clients), VpcCidrBlock(clients)]


class VpcEndpoint(Retaggable):
    """AWS::EC2::VPCEndpoint. An interface endpoint holds interfaces: its subnets and groups outlive it."""

    type_name = "AWS::EC2::VPCEndpoint"

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        known = ("VpcId", "ServiceName", "VpcEndpointType", "RouteTableIds", "SubnetIds", "SecurityGroupIds")
        given = {name: properties[name] for name in known if name in properties} | _options(properties)
        try:
            answer = self.clients.ec2.create_vpc_endpoint(
                **given, **tag_specifications("vpc-endpoint", properties)
            )
        except ClientError as error:
            raise ResourceError(str(error)) from error
        return self._resource(answer["VpcEndpoint"]["VpcEndpointId"])

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        changes: dict[str, Any] = {}
        for name in ("RouteTableIds", "SubnetIds", "SecurityGroupIds"):
            before, after = old.get(name, []), new.get(name, [])
            changes[f"Add{name}"] = [one for one in after if one not in before]
            changes[f"Remove{name}"] = [one for one in before if one not in after]
        try:
            self.clients.ec2.modify_vpc_endpoint(VpcEndpointId=physical_id, **changes, **_options(new))
        except ClientError as error:
            raise ResourceError(str(error)) from error
        self._retag(physical_id, old, new)
        return self._resource(physical_id)

    def delete(self, physical_id: str, properties: Properties) -> None:
        gone(self.clients.ec2.delete_vpc_endpoints, VpcEndpointIds=[physical_id])

    def _resource(self, endpoint_id: str) -> Resource:
        [seen] = self.clients.ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint_id])["VpcEndpoints"]
        attributes = {"Id": endpoint_id, "NetworkInterfaceIds": seen.get("NetworkInterfaceIds", [])}
        return Resource(endpoint_id, attributes)


def _options(properties: Properties) -> dict[str, Any]:
    private = str(properties.get("PrivateDnsEnabled", False)).lower() == "true"
    policy = properties.get("PolicyDocument")
    document = policy if policy is None or isinstance(policy, str) else json.dumps(policy)
    return {"PrivateDnsEnabled": private} | ({"PolicyDocument": document} if document else {})


class VpcCidrBlock:
    """AWS::EC2::VPCCidrBlock: a further IPv4 range of a VPC; every property replaces it."""

    type_name = "AWS::EC2::VPCCidrBlock"

    def __init__(self, clients: Clients) -> None:
        self.clients = clients

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        if "CidrBlock" not in properties:
            raise ResourceError("only a CidrBlock of IPv4 is emulated")
        try:
            answer = self.clients.ec2.associate_vpc_cidr_block(
                VpcId=properties["VpcId"], CidrBlock=properties["CidrBlock"]
            )
        except ClientError as error:
            raise ResourceError(str(error)) from error
        association = answer["CidrBlockAssociation"]["AssociationId"]
        return Resource(association, {"Id": association})

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        return Resource(physical_id, {"Id": physical_id})

    def delete(self, physical_id: str, properties: Properties) -> None:
        gone(self.clients.ec2.disassociate_vpc_cidr_block, AssociationId=physical_id)
