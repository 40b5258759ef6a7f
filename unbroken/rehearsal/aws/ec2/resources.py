"""CloudFormation types of EC2 that ministack lacks; those it has are corrected in ``amended.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Handler, Properties, Resource, ResourceError, tag_list


def handlers(clients: Clients) -> list[Handler]:
    """The types ministack lacks."""
    return [
        ElasticIp(clients), NatGateway(clients), FlowLog(clients),
        SecurityGroupRule(clients, "Ingress"), SecurityGroupRule(clients, "Egress"),
    ]  # fmt: skip


def gone(call: Any, **arguments: Any) -> None:
    """Delete through the API; what does not exist any more is fine."""
    try:
        call(**arguments)
    except ClientError as error:
        if "NotFound" not in error.response["Error"]["Code"]:
            raise ResourceError(str(error)) from error


def tag_specifications(kind: str, properties: Properties) -> dict[str, Any]:
    """The tags as EC2's operations take them."""
    tags = tag_list(properties)
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": tags}]} if tags else {}


class Retaggable:
    """A type of which only the tags can change in place."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients

    def _retag(self, resource_id: str, old: Properties, new: Properties) -> None:
        dropped = {tag["Key"] for tag in tag_list(old)} - {tag["Key"] for tag in tag_list(new)}
        if dropped:
            keys = [{"Key": key} for key in sorted(dropped)]
            self.clients.ec2.delete_tags(Resources=[resource_id], Tags=keys)
        if tag_list(new):
            self.clients.ec2.create_tags(Resources=[resource_id], Tags=tag_list(new))


class ElasticIp(Retaggable):
    """AWS::EC2::EIP; ``Ref`` is the public address."""

    type_name = "AWS::EC2::EIP"

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        domain = properties.get("Domain", "vpc")
        answer = self.clients.ec2.allocate_address(
            Domain=domain, **tag_specifications("elastic-ip", properties)
        )
        return self._resource(answer)

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        address = self._find(physical_id)
        if address is None:
            raise ResourceError(f"Address {physical_id} does not exist")
        self._retag(address["AllocationId"], old, new)
        return self._resource(address)

    def delete(self, physical_id: str, properties: Properties) -> None:
        address = self._find(physical_id)
        if address is not None:
            gone(self.clients.ec2.release_address, AllocationId=address["AllocationId"])

    def _find(self, public_ip: str) -> Mapping[str, Any] | None:
        addresses = self.clients.ec2.describe_addresses()["Addresses"]
        return next((a for a in addresses if a["PublicIp"] == public_ip), None)

    @staticmethod
    def _resource(address: Mapping[str, Any]) -> Resource:
        return Resource(address["PublicIp"], {key: address[key] for key in ("AllocationId", "PublicIp")})


class NatGateway(Retaggable):
    """AWS::EC2::NatGateway."""

    type_name = "AWS::EC2::NatGateway"

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        given = {
            key: properties[key]
            for key in ("SubnetId", "AllocationId", "ConnectivityType")
            if key in properties
        }
        try:
            answer = self.clients.ec2.create_nat_gateway(
                **given, **tag_specifications("natgateway", properties)
            )
        except ClientError as error:
            raise ResourceError(str(error)) from error
        nat_id = answer["NatGateway"]["NatGatewayId"]
        return Resource(nat_id, {"NatGatewayId": nat_id})

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        self._retag(physical_id, old, new)
        return Resource(physical_id, {"NatGatewayId": physical_id})

    def delete(self, physical_id: str, properties: Properties) -> None:
        gone(self.clients.ec2.delete_nat_gateway, NatGatewayId=physical_id)


class FlowLog(Retaggable):
    """AWS::EC2::FlowLog; a flow log to CloudWatch needs a role and a group, or nothing would ever arrive."""

    type_name = "AWS::EC2::FlowLog"

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        kind = properties.get("LogDestinationType", "cloud-watch-logs")
        if kind == "cloud-watch-logs":
            self._check_destination(properties)
        destination = {k: properties[k] for k in ("LogDestination", "LogGroupName") if k in properties}
        answer = self.clients.ec2.create_flow_logs(
            ResourceIds=[properties["ResourceId"]],
            ResourceType=properties["ResourceType"],
            TrafficType=properties.get("TrafficType", "ALL"),
            LogDestinationType=kind,
            **destination,
            **tag_specifications("vpc-flow-log", properties),
        )
        flow_log_id = answer["FlowLogIds"][0]
        return Resource(flow_log_id, {"Id": flow_log_id})

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        self._retag(physical_id, old, new)
        return Resource(physical_id, {"Id": physical_id})

    def delete(self, physical_id: str, properties: Properties) -> None:
        self.clients.ec2.delete_flow_logs(FlowLogIds=[physical_id])

    def _check_destination(self, properties: Properties) -> None:
        if "DeliverLogsPermissionArn" not in properties:
            raise ResourceError(
                "DeliverLogsPermissionArn can't be empty if LogDestinationType is cloud-watch-logs."
            )
        if not properties.get("LogGroupName") and not properties.get("LogDestination"):
            raise ResourceError("LogGroupName or LogDestination must be given for cloud-watch-logs.")


class SecurityGroupRule:
    """AWS::EC2::SecurityGroupIngress or ...Egress; all but the description replaces the rule."""

    def __init__(self, clients: Clients, direction: str) -> None:
        self.clients = clients
        self.direction = direction
        self.type_name = f"AWS::EC2::SecurityGroup{direction}"

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        try:
            answer = self._call("authorize", properties)
        except ClientError as error:
            raise ResourceError(str(error)) from error
        rule_id = answer["SecurityGroupRules"][0]["SecurityGroupRuleId"]
        return Resource(rule_id, {"Id": rule_id})

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        self.delete(physical_id, old)
        return self.create("", new, "")

    def delete(self, physical_id: str, properties: Properties) -> None:
        try:
            self._call("revoke", properties)
        except ClientError as error:
            if "NotFound" not in error.response["Error"]["Code"]:
                raise ResourceError(str(error)) from error

    def _call(self, verb: str, properties: Properties) -> Any:
        operation = getattr(self.clients.ec2, f"{verb}_security_group_{self.direction.lower()}")
        return operation(GroupId=properties["GroupId"], IpPermissions=[permission(properties)])


_PEERS = {
    "CidrIp": ("IpRanges", "CidrIp"),
    "CidrIpv6": ("Ipv6Ranges", "CidrIpv6"),
    "SourcePrefixListId": ("PrefixListIds", "PrefixListId"),
    "DestinationPrefixListId": ("PrefixListIds", "PrefixListId"),
    "SourceSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
    "DestinationSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
}


def permission(properties: Properties) -> dict[str, Any]:
    """A rule's CloudFormation properties as EC2's IpPermission."""
    result: dict[str, Any] = {"IpProtocol": str(properties["IpProtocol"])}
    result |= {key: int(properties[key]) for key in ("FromPort", "ToPort") if key in properties}
    described = {"Description": properties["Description"]} if "Description" in properties else {}
    for name, (list_name, member) in _present(properties):
        result[list_name] = [{member: properties[name], **described}]
    return result


def _present(properties: Properties) -> Iterable[tuple[str, tuple[str, str]]]:
    return [(name, target) for name, target in _PEERS.items() if name in properties]
