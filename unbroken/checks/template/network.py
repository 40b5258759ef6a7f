"""The network in the templates: EFA's rules, and nodes that nobody reaches from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.catalog.cloudformation import CLUSTER
from unbroken.checks.result import Outcome, counted, failed, listed, passed
from unbroken.checks.subject import Subject
from unbroken.checks.template.base import CHANGED, TemplateCheck
from unbroken.checks.template.model import Template, all_resources, followed

Place = tuple[str, str]
_DIRECTIONS = {
    "AWS::EC2::SecurityGroupIngress": ("SourceSecurityGroupId", "in"),
    "AWS::EC2::SecurityGroupEgress": ("DestinationSecurityGroupId", "out"),
}


def used_by_nodes(templates: Mapping[str, Template], key: str) -> set[Place]:
    """Subnets or security groups of the templates that instance groups are put into."""
    found = set()
    for cluster in all_resources(templates, CLUSTER):
        groups = cluster.properties.get("InstanceGroups", ())
        networks = [cluster.properties.get("VpcConfig", {})]
        networks += [group["OverrideVpcConfig"] for group in groups if "OverrideVpcConfig" in group]
        values = [value for network in networks for value in network.get(key, ())]
        found |= {place for value in values if (place := followed(value, cluster.area, templates))}
    return found


class TemplateEfaRules(TemplateCheck):
    """CDK drops the rule of its own accord where a group allows all traffic out."""

    id = "template-efa-rules"
    asks = "the nodes' own security group lets all protocols in from itself and out to itself, as EFA needs"
    faults = ("UP-002",)

    def applies(self, subject: Subject) -> bool:
        """Groups brought along are looked at in the account."""
        existing = subject.config.network.existing
        return existing is None or not existing.security_group_ids

    def run(self, subject: Subject) -> Outcome:
        """Both rules, for one of the groups that every node is in."""
        groups = used_by_nodes(subject.known_templates, "SecurityGroupIds")
        directions = {place: _self_rules(place, subject.known_templates) for place in groups}
        if any(found == {"in", "out"} for found in directions.values()):
            return passed("a rule in each direction names the group itself, with every protocol")
        found = listed(
            f"{place[1]}: {' and '.join(sorted(ways)) or 'none'}" for place, ways in directions.items()
        )
        return failed(f"rules found: {found or 'no group'}", CHANGED)


def _self_rules(place: Place, templates: Mapping[str, Template]) -> set[str]:
    found = set()
    for rule in all_resources(templates, *_DIRECTIONS):
        other, way = _DIRECTIONS[rule.type_name]
        ends = [followed(rule.properties.get(key), rule.area, templates) for key in ("GroupId", other)]
        if ends == [place, place] and str(rule.properties.get("IpProtocol")) == "-1":
            found.add(way)
    return found


class TemplatePrivateNodes(TemplateCheck):
    """A node with a way in from the internet is one that gets scanned within minutes."""

    id = "template-private-nodes"
    asks = "no subnet of the nodes has a route to an internet gateway or gives out public addresses"

    def applies(self, subject: Subject) -> bool:
        """A subnet brought along is looked at in the account."""
        return subject.config.network.existing is None

    def run(self, subject: Subject) -> Outcome:
        """Every subnet that a group is in."""
        templates = subject.known_templates
        subnets = used_by_nodes(templates, "Subnets")
        public = _leading_out(templates)
        wrong = [
            name
            for area, name in subnets
            if (area, name) in public or _gives_addresses(templates, area, name)
        ]
        if wrong or not subnets:
            return failed(f"public: {listed(wrong)}" if wrong else "the nodes' subnet was not found", CHANGED)
        return passed(counted(len(subnets), "private subnet"))


def _gives_addresses(templates: Mapping[str, Template], area: str, name: str) -> bool:
    properties: Mapping[str, Any] = templates[area].document["Resources"][name].get("Properties", {})
    return bool(properties.get("MapPublicIpOnLaunch", False))


def _leading_out(templates: Mapping[str, Template]) -> set[Place | None]:
    """Subnets whose route table has a route to a gateway."""
    tables = {
        followed(route.properties["RouteTableId"], route.area, templates)
        for route in all_resources(templates, "AWS::EC2::Route")
        if "GatewayId" in route.properties
    }
    return {
        followed(one.properties["SubnetId"], one.area, templates)
        for one in all_resources(templates, "AWS::EC2::SubnetRouteTableAssociation")
        if followed(one.properties["RouteTableId"], one.area, templates) in tables
    }


class TemplateRouteToS3(TemplateCheck):
    """Without it nodes hang as they fetch their first script."""

    id = "template-route-to-s3"
    asks = "every route table of the nodes' subnets is in an S3 gateway endpoint"
    faults = ("UP-015",)

    def applies(self, subject: Subject) -> bool:
        """A subnet brought along is looked at in the account."""
        return subject.config.network.existing is None

    def run(self, subject: Subject) -> Outcome:
        """Every subnet that a group is in."""
        templates = subject.known_templates
        subnets = used_by_nodes(templates, "Subnets")
        reached = _with_endpoint(templates)
        wrong = sorted(name for area, name in subnets if (area, name) not in reached)
        if wrong or not subnets:
            return failed(
                f"without: {listed(wrong)}" if wrong else "the nodes' subnet was not found", CHANGED
            )
        return passed(counted(len(subnets), "subnet"))


def _with_endpoint(templates: Mapping[str, Template]) -> set[Place | None]:
    tables = {
        followed(table, endpoint.area, templates)
        for endpoint in all_resources(templates, "AWS::EC2::VPCEndpoint")
        if endpoint.properties.get("VpcEndpointType", "Gateway") == "Gateway"
        and str(endpoint.properties["ServiceName"]).endswith("s3")
        for table in endpoint.properties.get("RouteTableIds", ())
    }
    return {
        followed(one.properties["SubnetId"], one.area, templates)
        for one in all_resources(templates, "AWS::EC2::SubnetRouteTableAssociation")
        if followed(one.properties["RouteTableId"], one.area, templates) in tables
    }
