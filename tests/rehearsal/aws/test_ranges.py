"""Address ranges, zones, and filters that work or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal.aws.network import attribute, ref, resource, vpc
from tests.rehearsal.aws.support import Stacks

Client = Callable[[str], Any]


def subnet(cidr: str, zone: str = "usw2-az4") -> Any:
    return resource("AWS::EC2::Subnet", VpcId=ref("Vpc"), CidrBlock=cidr, AvailabilityZoneId=zone)


def further(cidr: str) -> Any:
    return resource("AWS::EC2::VPCCidrBlock", VpcId=ref("Vpc"), CidrBlock=cidr)


@pytest.mark.behaviour("HP222")
def test_a_subnet_lies_in_its_vpc_and_apart_from_others(stacks: Stacks) -> None:
    made = stacks.create(vpc(), {"Vpc": ref("Vpc")})  # a stack of its own: cfn-lint sees the rest by itself
    for cidr, said in (("10.1.0.0/24", "InvalidSubnet.Range"), ("10.0.200.0/24", "InvalidSubnet.Conflict")):
        wrong = subnet(cidr)
        wrong["Properties"]["VpcId"] = made.outputs["Vpc"]
        failed = stacks.create({"Other": wrong})
        assert failed.status == "ROLLBACK_COMPLETE"
        assert any(said in reason for reason in failed.reasons), failed.reasons
        stacks.delete(failed.name)
    stacks.delete(made.name)


def test_a_further_range_of_a_vpc(stacks: Stacks, client: Client) -> None:
    parts = vpc() | {"More": further("100.64.0.0/16")}
    made = stacks.create(
        parts | {"Other": subnet("100.64.0.0/18", "usw2-az1") | {"DependsOn": "More"}},
        {"Vpc": ref("Vpc"), "Other": ref("Other"), "More": ref("More")},
    )
    assert made.status == "CREATE_COMPLETE", made.reasons
    ec2 = client("ec2")
    [seen] = ec2.describe_vpcs(VpcIds=[made.outputs["Vpc"]])["Vpcs"]
    assert [one["CidrBlock"] for one in seen["CidrBlockAssociationSet"]] == ["10.0.0.0/16", "100.64.0.0/16"]
    with pytest.raises(ClientError, match="has subnets in the range"):
        ec2.disassociate_vpc_cidr_block(AssociationId=made.outputs["More"])
    here = [{"Name": "availability-zone-id", "Values": ["usw2-az1"]}]
    assert made.outputs["Other"] in [s["SubnetId"] for s in ec2.describe_subnets(Filters=here)["Subnets"]]
    assert stacks.delete(made.name).status == "DELETE_COMPLETE"
    clash = stacks.create(vpc() | {"More": further("10.0.0.0/20")})
    assert any("conflicts with another range" in reason for reason in clash.reasons)
    stacks.delete(clash.name)


def test_the_zones_are_those_subnets_can_be_in(client: Client) -> None:
    zones = client("ec2").describe_availability_zones()["AvailabilityZones"]
    assert [zone["ZoneId"] for zone in zones] == ["usw2-az1", "usw2-az2", "usw2-az3", "usw2-az4"]
    assert {zone["State"] for zone in zones} == {"available"}


def test_a_filter_works_or_is_refused(stacks: Stacks, client: Client) -> None:
    made = stacks.create(vpc(), {"Group": attribute("GroupId", "Group")})
    ec2 = client("ec2")
    one = [{"Name": "group-id", "Values": [made.outputs["Group"]]}]
    found = ec2.describe_security_groups(Filters=one)["SecurityGroups"]
    assert [group["GroupId"] for group in found] == [made.outputs["Group"]]
    none = [{"Name": "group-id", "Values": ["sg-0123456789abcdef0"]}]
    assert ec2.describe_security_groups(Filters=none)["SecurityGroups"] == []
    for call in (
        ec2.describe_security_groups, ec2.describe_network_interfaces, ec2.describe_vpc_endpoints,
        ec2.describe_route_tables, ec2.describe_addresses, ec2.describe_nat_gateways,
    ):  # fmt: skip
        with pytest.raises(ClientError, match="The filter 'no-such' is invalid"):
            call(Filters=[{"Name": "no-such", "Values": ["x"]}])
    with pytest.raises(ClientError, match="does not exist"):
        ec2.describe_subnets(SubnetIds=["subnet-0123456789abcdef0"])
    with pytest.raises(ClientError, match="does not exist"):
        ec2.describe_network_interfaces(NetworkInterfaceIds=["eni-0123456789abcdef0"])
    stacks.delete(made.name)
