"""The network template: zone, routes, the group's rules, flow logs that arrive."""

from __future__ import annotations

from typing import Any

import pytest

from tests.synth.build import Resource, Synth


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


def routes(synth: Synth) -> dict[str, dict[str, Any]]:
    """Default route by route table."""
    return {
        route["Properties"]["RouteTableId"]["Ref"]: route["Properties"]
        for route in synth.resources("network", "AWS::EC2::Route").values()
    }


def test_the_private_subnet_leaves_through_nat_and_the_public_one_directly(mathstral: Synth) -> None:
    table = {
        association["Properties"]["SubnetId"]["Ref"]: association["Properties"]["RouteTableId"]["Ref"]
        for association in mathstral.resources("network", "AWS::EC2::SubnetRouteTableAssociation").values()
    }
    assert routes(mathstral)[table["PrivateSubnet"]]["NatGatewayId"] == {"Ref": "NatGateway"}
    assert routes(mathstral)[table["PublicSubnet"]]["GatewayId"] == {"Ref": "InternetGateway"}
    nat = mathstral.one("network", "AWS::EC2::NatGateway")["Properties"]
    assert nat["SubnetId"] == {"Ref": "PublicSubnet"}


def test_s3_is_reached_past_the_nat_gateway_from_every_private_route_table(mathstral: Synth) -> None:
    private = {table for table, route in routes(mathstral).items() if "NatGatewayId" in route}
    endpoint = mathstral.one("network", "AWS::EC2::VPCEndpoint")["Properties"]
    assert (endpoint["VpcEndpointType"], endpoint["ServiceName"]) == ("Gateway", "com.amazonaws.us-west-2.s3")
    assert {table["Ref"] for table in endpoint["RouteTableIds"]} == private


def test_the_flow_log_writes_to_the_group_its_role_may_write_to(mathstral: Synth) -> None:
    flow_log = mathstral.one("network", "AWS::EC2::FlowLog")["Properties"]
    group = flow_log["LogGroupName"]["Ref"]
    role_name = flow_log["DeliverLogsPermissionArn"]["Fn::GetAtt"][0]
    role = mathstral.template("network")["Resources"][role_name]["Properties"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "vpc-flow-logs.amazonaws.com"}
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


@pytest.mark.parametrize("shape", ["mathstral", "largest"])
def test_what_holds_the_file_system_in_place_goes_when_it_goes(
    shape: str, request: pytest.FixtureRequest
) -> None:
    """A kept file system has interfaces in this subnet and group; deleting these would fail."""
    synth: Synth = request.getfixturevalue(shape)
    wanted = synth.one("storage", "AWS::FSx::FileSystem")["DeletionPolicy"]
    resources = synth.template("network")["Resources"]
    for name in ("Vpc", "PrivateSubnet", "SecurityGroup", "SelfIngress", "SelfEgress"):
        assert resources[name]["DeletionPolicy"] == resources[name]["UpdateReplacePolicy"] == wanted
    assert "DeletionPolicy" not in resources["NatGateway"]  # it is charged by the hour
