"""VPC endpoints, and the interfaces by which they hold on to subnets and groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import attribute, ref, resource, vpc
from tests.rehearsal.aws.support import Stacks

Client = Callable[[str], Any]
Resources = dict[str, Any]


def private_vpc(**attributes: Any) -> Resources:
    made = vpc()
    made["Vpc"]["Properties"] |= {"EnableDnsSupport": True, "EnableDnsHostnames": True} | attributes
    return made


def interface(service: str = "ssm", subnets: tuple[str, ...] = ("Subnet",), **more: Any) -> Any:
    return resource(
        "AWS::EC2::VPCEndpoint",
        VpcId=ref("Vpc"),
        VpcEndpointType="Interface",
        ServiceName={"Fn::Sub": f"com.amazonaws.${{AWS::Region}}.{service}"},
        SubnetIds=[ref(subnet) for subnet in subnets],
        SecurityGroupIds=[attribute("GroupId", "Group")],
        PrivateDnsEnabled=True,
        **more,
    )


def gateway(service: str = "s3") -> Resources:
    endpoint = resource(
        "AWS::EC2::VPCEndpoint",
        VpcId=ref("Vpc"),
        ServiceName=f"com.amazonaws.us-west-2.{service}",
        RouteTableIds=[ref("Routes")],
    )
    return {"Routes": resource("AWS::EC2::RouteTable", VpcId=ref("Vpc")), "S3": endpoint}


@pytest.mark.behaviour("HP220")
def test_an_interface_endpoint_holds_its_subnet_and_group(stacks: Stacks, client: Client) -> None:
    outputs = {"Subnet": ref("Subnet"), "Group": attribute("GroupId", "Group"), "Id": ref("Ssm")}
    tags = [{"Key": "unbroken:cluster", "Value": "c"}]
    made = stacks.create(private_vpc() | {"Ssm": interface(Tags=tags)}, outputs)
    assert made.status == "CREATE_COMPLETE", made.reasons
    ec2 = client("ec2")
    [seen] = ec2.describe_vpc_endpoints(VpcEndpointIds=[made.outputs["Id"]])["VpcEndpoints"]
    assert seen["PrivateDnsEnabled"] is True
    assert seen["Groups"][0]["GroupId"] == made.outputs["Group"]
    assert {"Key": "unbroken:cluster", "Value": "c"} in seen["Tags"]
    [held] = seen["NetworkInterfaceIds"]
    by_group = [{"Name": "group-id", "Values": [made.outputs["Group"]]}]
    [found] = ec2.describe_network_interfaces(Filters=by_group)["NetworkInterfaces"]
    assert (found["NetworkInterfaceId"], found["InterfaceType"]) == (held, "vpc_endpoint")
    for call, selection in (
        (ec2.delete_subnet, {"SubnetId": made.outputs["Subnet"]}),
        (ec2.delete_security_group, {"GroupId": made.outputs["Group"]}),
    ):
        with pytest.raises(ClientError, match="DependencyViolation"):
            call(**selection)
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []


def test_a_gateway_endpoint_is_a_route(stacks: Stacks, client: Client) -> None:
    made = stacks.create(private_vpc() | gateway(), {"Id": ref("S3"), "Table": ref("Routes")})
    assert made.status == "CREATE_COMPLETE", made.reasons

    def targets() -> list[str]:
        [table] = client("ec2").describe_route_tables(RouteTableIds=[made.outputs["Table"]])["RouteTables"]
        return [route["GatewayId"] for route in table["Routes"] if "DestinationPrefixListId" in route]

    assert targets() == [made.outputs["Id"]]
    without = private_vpc() | gateway()
    del without["S3"]
    assert stacks.update(made.name, without).status == "UPDATE_COMPLETE"
    assert client("ec2").describe_vpc_endpoints()["VpcEndpoints"] == []
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


@pytest.mark.behaviour("HP221")
@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (private_vpc() | {"A": interface("nothing")}, "InvalidServiceName"),
        (private_vpc() | {"A": interface(subnets=("Subnet", "Twin"))}, "DuplicateSubnetsInSameZone"),
        (private_vpc(EnableDnsHostnames=False) | {"A": interface()}, "requires both enableDnsSupport"),
        (
            private_vpc() | gateway() | {"Twice": gateway()["S3"] | {"DependsOn": "S3"}},
            "RouteAlreadyExists",
        ),
        (private_vpc() | gateway("ssm"), "InvalidServiceName"),
    ],
)
def test_endpoints_that_are_refused(stacks: Stacks, parts: Resources, said: str) -> None:
    twin = resource(
        "AWS::EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.64.0/20", AvailabilityZoneId="usw2-az4"
    )
    failed = stacks.create(parts | {"Twin": twin})
    assert failed.status == "ROLLBACK_COMPLETE"
    assert any(said in reason for reason in failed.reasons), failed.reasons
    stacks.delete(failed.name)


def test_one_endpoint_a_service_has_the_private_name(stacks: Stacks, client: Client) -> None:
    made = stacks.create(private_vpc() | {"Ssm": interface()}, {"Vpc": ref("Vpc"), "Subnet": ref("Subnet")})
    wanted = {
        "VpcId": made.outputs["Vpc"],
        "ServiceName": "com.amazonaws.us-west-2.ssm",
        "VpcEndpointType": "Interface",
        "SubnetIds": [made.outputs["Subnet"]],
    }
    with pytest.raises(ClientError, match="already a conflicting DNS domain"):
        client("ec2").create_vpc_endpoint(**wanted, PrivateDnsEnabled=True)
    second = client("ec2").create_vpc_endpoint(**wanted)["VpcEndpoint"]["VpcEndpointId"]
    client("ec2").delete_vpc_endpoints(VpcEndpointIds=[second])
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"


def test_a_changed_endpoint_moves_its_interfaces(stacks: Stacks, client: Client) -> None:
    other = resource(
        "AWS::EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.64.0/20", AvailabilityZoneId="usw2-az1"
    )
    parts, outputs = private_vpc() | {"Other": other}, {"Id": ref("Ssm"), "Other": ref("Other")}
    made = stacks.create(parts | {"Ssm": interface()}, outputs)
    moved = stacks.update(made.name, parts | {"Ssm": interface(subnets=("Subnet", "Other"))}, outputs)
    assert (moved.status, moved.outputs) == ("UPDATE_COMPLETE", made.outputs)
    [seen] = client("ec2").describe_vpc_endpoints()["VpcEndpoints"]
    assert made.outputs["Other"] in seen["SubnetIds"] and len(seen["NetworkInterfaceIds"]) == 2
    replaced = stacks.update(made.name, parts | {"Ssm": interface("logs")}, outputs)
    assert replaced.status == "UPDATE_COMPLETE"
    assert replaced.outputs["Id"] != made.outputs["Id"]
    assert len(client("ec2").describe_network_interfaces()["NetworkInterfaces"]) == 1
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
