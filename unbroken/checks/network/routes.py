"""Where the subnets' routes lead."""

from __future__ import annotations

from typing import ClassVar

from unbroken.aws.vpc import Endpoint, Route, RouteTable
from unbroken.checks.network.base import ANYWHERE, NetworkCheck, existing, route_table, subnet_ids
from unbroken.checks.result import Outcome, failed, passed, together, unknown
from unbroken.checks.subject import Subject
from unbroken.config.endpoints import endpoint_services


class _OfRoutes(NetworkCheck):
    """Something about the route table of each subnet."""

    calls: ClassVar[tuple[str, ...]] = ("ec2:DescribeRouteTables",)

    def run(self, subject: Subject) -> Outcome:
        """Each subnet's table."""
        return together(self._of(one, subject) for one in subnet_ids(subject))

    def _of(self, subnet_id: str, subject: Subject) -> Outcome:
        table = route_table(subject, subnet_id)
        if table is None:
            return unknown(f"{subnet_id}: no route table was found", "see network-vpc")
        return self.judge(subnet_id, table, subject)

    def judge(self, subnet_id: str, table: RouteTable, subject: Subject) -> Outcome:
        """One subnet."""
        raise NotImplementedError


def _default(table: RouteTable) -> Route | None:
    return next((route for route in table.routes if route.destination == ANYWHERE and route.active), None)


def endpoints(subject: Subject) -> list[Endpoint]:
    """The endpoints of the VPC."""
    account, vpc = subject.asked, existing(subject).vpc_id
    return account.once(f"endpoints {vpc}", lambda: account.aws.ec2.endpoints(vpc))


class NetworkPrivate(_OfRoutes):
    """HyperPod's nodes have no public addresses, so a public subnet leads them nowhere."""

    id = "network-private"
    asks = "no subnet of the nodes has a route to an internet gateway"
    faults = ("UP-015",)

    def judge(self, subnet_id: str, table: RouteTable, subject: Subject) -> Outcome:
        """By the targets of its routes."""
        out = [route for route in table.routes if route.target.startswith("igw-")]
        if out:
            fix = "use a subnet whose way out is a NAT gateway"
            return failed(f"{subnet_id}: {out[0].destination} leads to {out[0].target}", fix)
        return passed(f"{subnet_id}: private")


class NetworkRouteToS3(_OfRoutes):
    """Nodes fetch their first script from S3, and hang where they cannot."""

    id = "network-route-to-s3"
    asks = "every subnet of the nodes reaches S3, by a gateway endpoint or a NAT gateway"
    faults = ("UP-015",)
    calls = (*_OfRoutes.calls, "ec2:DescribeVpcEndpoints")

    def judge(self, subnet_id: str, table: RouteTable, subject: Subject) -> Outcome:
        """The endpoint first: it is free, and NAT is charged by the gigabyte."""
        s3 = [one for one in endpoints(subject) if one.service == "s3" and one.state == "available"]
        if any(table.table_id in one.route_tables for one in s3):
            return passed(f"{subnet_id}: gateway endpoint")
        fix = f"add an S3 gateway endpoint to {table.table_id}"
        return _by_default_route(subnet_id, _default(table), fix)


def _by_default_route(subnet_id: str, route: Route | None, fix: str) -> Outcome:
    """A NAT gateway is a way out; where another target leads cannot be seen from here."""
    if route is None:
        return failed(f"{subnet_id}: no way out", fix)
    if route.target.startswith("nat-"):
        return passed(f"{subnet_id}: by {route.target}")
    if route.target.startswith("igw-"):
        return failed(f"{subnet_id}: {route.target}, of no use to nodes without public addresses", fix)
    return unknown(f"{subnet_id}: {route.target}, and where that leads is not to be seen", fix)


class NetworkWayOut(_OfRoutes):
    """Logs, Session Manager and HyperPod's agents talk to AWS; packages and models come from the internet."""

    id = "network-way-out"
    asks = "every subnet of the nodes reaches AWS's services: through NAT, or by an endpoint for each"
    faults = ("UP-005", "UP-015")
    calls = (*_OfRoutes.calls, "ec2:DescribeVpcEndpoints")

    def judge(self, subnet_id: str, table: RouteTable, subject: Subject) -> Outcome:
        """By its default route; where it has none, by the VPC's endpoints."""
        route, services = _default(table), endpoint_services(subject.config)
        fix = f"add a NAT gateway, or interface endpoints for {', '.join(services)}"
        if route is not None:
            return _by_default_route(subnet_id, route, fix)
        known = {one.service for one in endpoints(subject) if one.private_dns and one.state == "available"}
        missing = [service for service in services if service not in known]
        if missing:
            return failed(f"{subnet_id}: no way out, and no endpoint for {', '.join(missing)}", fix)
        return passed(f"{subnet_id}: by endpoints; packages and models have to come from S3")
