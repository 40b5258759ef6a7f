"""What a rule of a security group lets through, and how nodes of other clusters count."""

from __future__ import annotations

from ipaddress import IPv4Network
from types import SimpleNamespace
from typing import cast

import pytest

from unbroken.aws.sagemaker import Cluster, Group
from unbroken.aws.vpc import Rule, SecurityGroup
from unbroken.checks.account.quotas import other_nodes
from unbroken.checks.check import Area, Check
from unbroken.checks.network.rules import _lets, _missing_ways
from unbroken.checks.result import Outcome, passed
from unbroken.checks.runner import leave_out
from unbroken.checks.subject import Subject

SUBNET = IPv4Network("10.0.128.0/17")


def rule(protocol: str = "-1", *, groups: tuple[str, ...] = (), cidrs: tuple[str, ...] = ()) -> Rule:
    return Rule(protocol, None if protocol == "-1" else 0, 65535, groups, cidrs, ())


@pytest.mark.parametrize(("protocol", "missing"), [("-1", []), ("tcp", ["in"])])
def test_efa_needs_every_protocol_from_the_group_itself(protocol: str, missing: list[str]) -> None:
    own = SecurityGroup("sg-1", "vpc-1", (rule(protocol, groups=("sg-1",)),), (rule(groups=("sg-1",)),))
    assert list(_missing_ways(own)) == missing


@pytest.mark.parametrize(("cidr", "lets"), [("10.0.0.0/16", True), ("10.0.128.0/24", False)])
def test_an_address_rule_has_to_hold_the_whole_subnet(cidr: str, lets: bool) -> None:
    assert _lets(rule("tcp", cidrs=(cidr,)), (988, 988), set(), SUBNET) is lets


def test_nodes_on_their_way_count_and_the_files_own_cluster_does_not() -> None:
    def cluster(name: str) -> Cluster:
        coming = Group("w", "ml.p5.48xlarge", current=1, target=4, status="")
        going = Group("v", "ml.p5.48xlarge", current=3, target=0, status="")
        return Cluster(name, "arn", "InService", "", "Automatic", (coming, going))

    sagemaker = SimpleNamespace(clusters=lambda: ["own", "other"], cluster=cluster)
    account = SimpleNamespace(aws=SimpleNamespace(sagemaker=sagemaker), once=lambda _, ask: ask())
    subject = SimpleNamespace(asked=account, config=SimpleNamespace(name="own"))
    assert other_nodes(cast(Subject, subject)) == {"ml.p5.48xlarge": 7}


def test_a_check_that_cannot_say_whether_it_applies_is_not_left_out() -> None:
    class Unsure(Check):
        id = "unsure"
        area = Area.FILE
        asks = "what is asked"

        def applies(self, subject: Subject) -> bool:
            raise KeyError("Subnets")

        def run(self, subject: Subject) -> Outcome:
            return passed("never")

    assert leave_out(Unsure(), cast(Subject, SimpleNamespace(account=None))) is None
