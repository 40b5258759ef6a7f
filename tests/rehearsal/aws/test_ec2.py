"""EC2's types over CloudFormation, and what EC2 refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import after, attribute, public_side, ref, resource, role, self_rules, vpc
from tests.rehearsal.aws.support import Stacks

Client = Callable[[str], Any]


def code(raised: pytest.ExceptionInfo[ClientError]) -> str:
    return str(raised.value.response["Error"]["Code"])


def test_a_network_comes_and_goes(stacks: Stacks, client: Client) -> None:
    outputs = {
        "Subnet": ref("Subnet"),
        "Cidr": attribute("CidrBlock", "Vpc"),
        "Group": attribute("GroupId", "Group"),
        "Nat": ref("Nat"),
    }
    made = stacks.create(vpc() | self_rules() | public_side(), outputs)
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert made.outputs["Cidr"] == "10.0.0.0/16"
    ec2 = client("ec2")
    subnet = ec2.describe_subnets(SubnetIds=[made.outputs["Subnet"]])["Subnets"][0]
    assert (subnet["AvailabilityZone"], subnet["AvailabilityZoneId"]) == ("us-west-2d", "usw2-az4")
    group = ec2.describe_security_groups(GroupIds=[made.outputs["Group"]])["SecurityGroups"][0]
    assert group["IpPermissions"][0]["UserIdGroupPairs"][0]["GroupId"] == made.outputs["Group"]
    assert any(rule["UserIdGroupPairs"] for rule in group["IpPermissionsEgress"])
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    assert ec2.describe_addresses()["Addresses"] == []


def test_a_zone_of_another_region_is_refused(stacks: Stacks) -> None:
    wrong = vpc()
    wrong["Subnet"]["Properties"]["AvailabilityZoneId"] = "use1-az1"
    made = stacks.create(wrong)
    assert made.status == "ROLLBACK_COMPLETE"
    assert any("Value (use1-az1) for parameter availabilityZoneId is invalid" in r for r in made.reasons)


@pytest.mark.behaviour("HP202")
def test_a_subnet_and_a_group_in_use_stay(stacks: Stacks, client: Client) -> None:
    made = stacks.create(vpc(), {"Subnet": ref("Subnet"), "Group": attribute("GroupId", "Group")})
    ec2 = client("ec2")
    interface = ec2.create_network_interface(
        SubnetId=made.outputs["Subnet"], Groups=[made.outputs["Group"]], PrivateIpAddress="10.0.128.10"
    )["NetworkInterface"]
    assert interface["PrivateIpAddress"] == "10.0.128.10"
    for call, selection in ((ec2.delete_subnet, "Subnet"), (ec2.delete_security_group, "Group")):
        name = "SubnetId" if selection == "Subnet" else "GroupId"
        with pytest.raises(ClientError) as refused:
            call(**{name: made.outputs[selection]})
        assert code(refused) == "DependencyViolation"
    failed = stacks.delete(made.name)
    assert failed.status == "DELETE_FAILED"
    assert any("DependencyViolation" in reason for reason in failed.reasons)
    ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_an_address_is_had_once_and_in_its_subnet_only(stacks: Stacks, client: Client) -> None:
    made = stacks.create(vpc(), {"Subnet": ref("Subnet")})
    ec2, subnet = client("ec2"), made.outputs["Subnet"]
    first = ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]
    assert first["PrivateIpAddress"] == "10.0.128.4"
    for taken in ("10.0.128.4", "10.0.0.9"):
        with pytest.raises(ClientError) as refused:
            ec2.create_network_interface(SubnetId=subnet, PrivateIpAddress=taken)
        assert code(refused) == "InvalidParameterValue"
    ec2.delete_network_interface(NetworkInterfaceId=first["NetworkInterfaceId"])
    stacks.delete(made.name)


@pytest.mark.behaviour("HP203")
def test_nat_and_internet_gateway_depend_on_each_other(stacks: Stacks, client: Client) -> None:
    unattached = vpc() | public_side()
    del unattached["Attachment"]
    for name in ("Address", "Nat"):
        del unattached[name]["DependsOn"]
    early = stacks.create(unattached)
    assert early.status == "ROLLBACK_COMPLETE"
    assert any("has no Internet gateway attached" in reason for reason in early.reasons)

    made = stacks.create(vpc() | public_side(), {"Internet": ref("Internet"), "Vpc": ref("Vpc")})
    assert made.status == "CREATE_COMPLETE", made.reasons
    with pytest.raises(ClientError, match="mapped public address") as refused:
        client("ec2").detach_internet_gateway(
            InternetGatewayId=made.outputs["Internet"], VpcId=made.outputs["Vpc"]
        )
    assert code(refused) == "DependencyViolation"
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_a_route_needs_its_gateway_attached(stacks: Stacks) -> None:
    parts = vpc() | {"Internet": resource("AWS::EC2::InternetGateway")}
    parts["Routes"] = resource("AWS::EC2::RouteTable", VpcId=ref("Vpc"))
    to_world = {
        "RouteTableId": ref("Routes"),
        "DestinationCidrBlock": "0.0.0.0/0",
        "GatewayId": ref("Internet"),
    }
    parts["Route"] = resource("AWS::EC2::Route", **to_world)
    early = stacks.create(parts)
    assert early.status == "ROLLBACK_COMPLETE"
    assert any("belong to different networks" in reason for reason in early.reasons)
    attachment = {"VpcId": ref("Vpc"), "InternetGatewayId": ref("Internet")}
    parts["Attachment"] = resource("AWS::EC2::VPCGatewayAttachment", **attachment)
    made = stacks.create(parts | {"Route": after("Attachment", parts["Route"])})
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


@pytest.mark.behaviour("HP209")
def test_a_flow_log_needs_a_role_and_a_group(stacks: Stacks) -> None:
    log = {"ResourceId": ref("Vpc"), "ResourceType": "VPC", "TrafficType": "ALL"}
    parts = {"Vpc": vpc()["Vpc"], "Role": role(), "Logs": resource("AWS::Logs::LogGroup")}
    delivered = log | {"LogGroupName": ref("Logs"), "DeliverLogsPermissionArn": attribute("Arn", "Role")}
    made = stacks.create(parts | {"Flow": resource("AWS::EC2::FlowLog", **delivered)})
    assert made.status == "CREATE_COMPLETE", made.reasons
    stacks.delete(made.name)
    undelivered = stacks.create(parts | {"Flow": resource("AWS::EC2::FlowLog", **log)})
    assert undelivered.status == "ROLLBACK_COMPLETE"
    assert any("DeliverLogsPermissionArn" in reason for reason in undelivered.reasons)


def test_tags_change_in_place(stacks: Stacks, client: Client) -> None:
    def address(**tags: str) -> dict[str, Any]:
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        return {"Address": resource("AWS::EC2::EIP", Domain="vpc", Tags=listed)}

    made = stacks.create(address(a="1", b="2"), {"Ip": ref("Address")})
    changed = stacks.update(made.name, address(a="3"), {"Ip": ref("Address")})
    assert changed.outputs == made.outputs
    found = client("ec2").describe_addresses()["Addresses"][0]
    own = {tag["Key"]: tag["Value"] for tag in found["Tags"] if not tag["Key"].startswith("aws:")}
    assert own == {"a": "3"}
    stacks.delete(made.name)
