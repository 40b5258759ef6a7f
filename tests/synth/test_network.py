"""The network template: zone, routes, the group's rules, flow logs that arrive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.synth.build import Resource, Synth, synth
from unbroken.config import HomeConfig


def self_rules(template: dict[str, Any]) -> dict[str, list[Resource]]:
    """Rules of the group for all protocols whose other end is the group itself, by direction."""
    ends = {"Ingress": "SourceSecurityGroupId", "Egress": "DestinationSecurityGroupId"}
    found: dict[str, list[Resource]] = {"Ingress": [], "Egress": []}
    for body in template["Resources"].values():
        direction = body["Type"].removeprefix("AWS::EC2::SecurityGroup")
        if direction in ends and body["Type"] != "AWS::EC2::SecurityGroup":
            rule = body["Properties"]
            if rule["IpProtocol"] == "-1" and rule.get(ends[direction]) == rule["GroupId"]:
                found[direction].append(body)
    return found


def test_everything_passes_inside_the_group_both_ways(mathstral: Synth) -> None:
    rules = self_rules(mathstral.template("network"))
    assert {direction: len(found) for direction, found in rules.items()} == {"Ingress": 1, "Egress": 1}


def test_a_rule_to_the_whole_world_does_not_stand_in_for_it(mathstral: Synth) -> None:
    """EFA packets have no IP address, so 0.0.0.0/0 does not let them out: the check must see that."""
    template = mathstral.template("network")
    egress = template["Resources"]["SelfEgress"]["Properties"]
    del egress["DestinationSecurityGroupId"]
    egress["CidrIp"] = "0.0.0.0/0"
    assert self_rules(template)["Egress"] == []


def test_the_world_is_reached_by_http_only_and_reaches_nothing(mathstral: Synth) -> None:
    group = mathstral.one("network", "AWS::EC2::SecurityGroup")["Properties"]
    assert "SecurityGroupIngress" not in group
    assert {
        (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) for rule in group["SecurityGroupEgress"]
    } == {
        ("tcp", 443, 443),
        ("tcp", 80, 80),
    }


def test_subnets_are_in_the_zone_given_by_id(mathstral: Synth) -> None:
    for subnet in mathstral.resources("network", "AWS::EC2::Subnet").values():
        assert subnet["Properties"]["AvailabilityZoneId"] == "usw2-az4"
        assert "AvailabilityZone" not in subnet["Properties"]
        assert subnet["Properties"]["MapPublicIpOnLaunch"] is False


def tables(synth: Synth) -> dict[str, str]:
    """Route table by subnet, as logical ids."""
    found = synth.resources("network", "AWS::EC2::SubnetRouteTableAssociation").values()
    return {
        body["Properties"]["SubnetId"]["Ref"]: body["Properties"]["RouteTableId"]["Ref"] for body in found
    }


def routes(synth: Synth) -> dict[str, dict[str, Any]]:
    """Default route by route table."""
    return {
        route["Properties"]["RouteTableId"]["Ref"]: route["Properties"]
        for route in synth.resources("network", "AWS::EC2::Route").values()
    }


def test_private_subnets_leave_through_nat_and_the_public_one_directly(example: Synth) -> None:
    for subnet, table in tables(example).items():
        if subnet == "PublicSubnet":
            assert routes(example)[table]["GatewayId"] == {"Ref": "InternetGateway"}
        elif not example.config.network.no_internet:
            assert routes(example)[table]["NatGatewayId"] == {"Ref": "NatGateway"}


def test_every_subnet_has_a_route_table_of_its_own(example: Synth) -> None:
    subnets = set(example.resources("network", "AWS::EC2::Subnet"))
    assert set(tables(example)) == subnets
    assert len(set(tables(example).values())) == len(subnets)


def test_the_nat_gateway_is_in_the_public_subnet(mathstral: Synth) -> None:
    nat = mathstral.one("network", "AWS::EC2::NatGateway")["Properties"]
    assert nat["SubnetId"] == {"Ref": "PublicSubnet"}


def test_a_further_subnet_is_in_its_own_zone(everything: Synth) -> None:
    [name] = [
        each for each in everything.resources("network", "AWS::EC2::Subnet") if each.startswith("Subnets")
    ]
    subnet = everything.resources("network", "AWS::EC2::Subnet")[name]["Properties"]
    [wanted] = everything.config.network.subnets
    assert (subnet["AvailabilityZoneId"], subnet["CidrBlock"]) == (wanted.availability_zone_id, wanted.cidr)
    assert subnet["MapPublicIpOnLaunch"] is False


def test_nothing_leads_out_of_a_closed_network(closed: Synth) -> None:
    kinds = {body["Type"] for body in closed.template("network")["Resources"].values()}
    assert not kinds & {
        "AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::EC2::Route",
        "AWS::EC2::VPCGatewayAttachment",
    }  # fmt: skip
    assert list(closed.resources("network", "AWS::EC2::Subnet")) == ["PrivateSubnet"]


def test_nodes_of_a_closed_network_speak_https_only(closed: Synth) -> None:
    group = closed.resources("network", "AWS::EC2::SecurityGroup")["SecurityGroup"]["Properties"]
    assert [rule["FromPort"] for rule in group["SecurityGroupEgress"]] == [443]


def test_a_brought_vpc_gets_nothing_but_a_group_where_none_is_given(brought: Synth, tmp_path: Path) -> None:
    assert {body["Type"] for body in brought.template("network")["Resources"].values()} == {
        "AWS::CloudFormation::WaitConditionHandle"
    }
    existing = brought.config.network.existing
    assert existing is not None
    network = brought.config.network.model_copy(
        update={"existing": existing.model_copy(update={"security_group_ids": []})}
    )
    bare = synth(brought.config.model_copy(update={"network": network}), tmp_path)
    group = bare.one("network", "AWS::EC2::SecurityGroup")["Properties"]
    assert group["VpcId"] == existing.vpc_id
    assert {len(rules) for rules in self_rules(bare.template("network")).values()} == {1}
    assert len(bare.template("network")["Resources"]) == 3


def test_flow_logs_can_be_left_out(mathstral: Synth, tmp_path: Path) -> None:
    network = mathstral.config.network.model_copy(update={"flow_logs": False})
    quiet = synth(mathstral.config.model_copy(update={"network": network}), tmp_path)
    kinds = {body["Type"] for body in quiet.template("network")["Resources"].values()}
    assert not kinds & {"AWS::EC2::FlowLog", "AWS::Logs::LogGroup", "AWS::IAM::Role"}


def test_flow_logs_are_encrypted_with_the_clusters_key(closed: Synth, mathstral: Synth) -> None:
    key = closed.one("network", "AWS::Logs::LogGroup")["Properties"]["KmsKeyId"]
    assert key["Fn::GetStackOutput"]["StackName"] == "ml-closed-encryption"
    assert "KmsKeyId" not in mathstral.one("network", "AWS::Logs::LogGroup")["Properties"]


def test_the_flow_log_writes_to_the_group_its_role_may_write_to(mathstral: Synth) -> None:
    flow_log = mathstral.one("network", "AWS::EC2::FlowLog")["Properties"]
    group = flow_log["LogGroupName"]["Ref"]
    role_name = flow_log["DeliverLogsPermissionArn"]["Fn::GetAtt"][0]
    role = mathstral.template("network")["Resources"][role_name]["Properties"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "vpc-flow-logs.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    write, find = role["Policies"][0]["PolicyDocument"]["Statement"]
    assert write["Resource"] == {"Fn::GetAtt": [group, "Arn"]}
    assert {"logs:CreateLogStream", "logs:PutLogEvents"} <= set(write["Action"])
    assert find["Action"] == "logs:DescribeLogGroups"
    retention = mathstral.template("network")["Resources"][group]["Properties"]["RetentionInDays"]
    assert (flow_log["TrafficType"], retention) == ("ALL", 30)


def test_addresses_and_routes_go_before_the_internet_gateway(mathstral: Synth) -> None:
    for kind in ("AWS::EC2::EIP", "AWS::EC2::Route"):
        for name, body in mathstral.resources("network", kind).items():
            if name != "PrivateRoute":
                assert body["DependsOn"] == ["InternetGatewayAttachment"]
    assert mathstral.one("network", "AWS::EC2::NatGateway")["DependsOn"] == ["PublicRoute"]


def kept(synth: Synth) -> set[str]:
    """Deletion policies of what a file system has interfaces in."""
    resources = synth.template("network")["Resources"]
    holders = [
        resources[name] for name in ("Vpc", "PrivateSubnet", "SecurityGroup", "SelfIngress", "SelfEgress")
    ]
    assert "DeletionPolicy" not in resources["NatGateway"]  # it is charged by the hour
    return {body["DeletionPolicy"] for body in holders} | {body["UpdateReplacePolicy"] for body in holders}


@pytest.mark.parametrize(
    ("shape", "policies"), [("mathstral", {"RetainExceptOnCreate", "Retain"}), ("largest", {"Delete"})]
)
def test_what_holds_a_file_system_goes_when_it_goes(
    shape: str, policies: set[str], request: pytest.FixtureRequest
) -> None:
    """A kept file system has interfaces in this subnet and group; deleting these would fail."""
    synth: Synth = request.getfixturevalue(shape)
    assert kept(synth) == policies
    file_system = synth.one("storage", "AWS::FSx::FileSystem")
    assert {file_system["DeletionPolicy"], file_system["UpdateReplacePolicy"]} == policies


def test_a_kept_home_keeps_the_network_too(everything: Synth, tmp_path: Path) -> None:
    assert everything.config.storage.deletion == "delete"
    home = HomeConfig(deletion="retain")
    assert kept(synth(everything.config.model_copy(update={"home": home}), tmp_path)) == {
        "RetainExceptOnCreate", "Retain",
    }  # fmt: skip
