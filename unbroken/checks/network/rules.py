"""Security groups brought along: EFA's rules and Lustre's ports, in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Network

from unbroken.aws.vpc import Rule, SecurityGroup
from unbroken.checks.network.base import NetworkCheck, existing, private_subnet, security_groups
from unbroken.checks.result import Outcome, failed, passed, together, unknown
from unbroken.checks.subject import Subject

LUSTRE_PORTS = ((988, 988), (1018, 1023))
"""Amazon FSx for Lustre user guide, "File system access control with Amazon VPC"."""


class NetworkEfaRules(NetworkCheck):
    """EFA's packets are neither IPv4 nor IPv6: only a rule that names the group itself lets them pass."""

    id = "network-efa-rules"
    asks = "every security group of the cluster lets all protocols in from itself and out to itself"
    faults = ("UP-002",)
    calls = ("ec2:DescribeSecurityGroups",)

    def applies(self, subject: Subject) -> bool:
        """Only with groups brought along."""
        return super().applies(subject) and bool(existing(subject).security_group_ids)

    def run(self, subject: Subject) -> Outcome:
        """Each group by itself, since the service looks at each."""
        ids = existing(subject).security_group_ids
        known = {one.group_id: one for one in security_groups(subject, ids)}
        return together(self._judge(one, known.get(one)) for one in ids)

    def _judge(self, group_id: str, group: SecurityGroup | None) -> Outcome:
        if group is None:
            return failed(f"there is no {group_id}", "correct network.existing.security_group_ids")
        missing = list(_missing_ways(group))
        if missing:
            fix = f"add a rule to {group_id}: all protocols, {' and '.join(missing)}, {group_id} itself"
            return failed(f"{group_id}: no rule for itself {' and none '.join(missing)}", fix)
        return passed(f"{group_id}: both ways")


def _missing_ways(group: SecurityGroup) -> Iterator[str]:
    for way, rules in (("in", group.ingress), ("out", group.egress)):
        if not any(rule.protocol == "-1" and group.group_id in rule.groups for rule in rules):
            yield way


class NetworkLustrePorts(NetworkCheck):
    """A mount that cannot pass ends in a time-out, on every node."""

    id = "network-lustre-ports"
    asks = "TCP 988 and 1018-1023 pass both ways between the nodes' security groups and the file system's"
    faults = ("UP-007", "UP-026")
    calls = (
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeNetworkInterfaces",
        "fsx:DescribeFileSystems",
    )

    def applies(self, subject: Subject) -> bool:
        """Only for groups or a file system that are there already."""
        brought = subject.config.storage.existing is not None
        return super().applies(subject) and (brought or bool(existing(subject).security_group_ids))

    def run(self, subject: Subject) -> Outcome:
        """A file system that is made gets the nodes' groups."""
        subnet = private_subnet(subject)
        if subnet is None:
            return unknown("the private subnet was not found", "see network-vpc")
        nodes = security_groups(subject, existing(subject).security_group_ids) or []
        storage = self._of_file_system(subject, nodes)
        if not storage:
            return unknown("the file system's security groups were not found", "see file-system")
        return together(_both_ways(nodes, storage, IPv4Network(subnet.cidr)))

    def _of_file_system(self, subject: Subject, nodes: list[SecurityGroup]) -> list[SecurityGroup]:
        storage, account = subject.config.storage, subject.asked
        if storage.existing is None:
            return nodes
        name = storage.existing.file_system_id
        found = account.once(f"file system {name}", lambda: account.aws.fsx.file_system(name))
        if found is None or not found.interfaces:
            return []
        groups = account.aws.ec2.groups_of_interfaces(found.interfaces)
        return security_groups(subject, groups)


def _both_ways(
    nodes: Sequence[SecurityGroup], storage: Sequence[SecurityGroup], subnet: IPv4Network
) -> Iterator[Outcome]:
    """Nodes without a group brought along get one that is made, whose id no rule can name yet.

    Then only the file system's side can be looked at, and only rules by address let the nodes in.
    """
    node_ids, storage_ids = _ids(nodes), _ids(storage)
    yield _passes("into the file system", (rule for one in storage for rule in one.ingress), node_ids, subnet)
    yield _passes(
        "out of the file system", (rule for one in storage for rule in one.egress), node_ids, subnet
    )
    if nodes:
        yield _passes("out of the nodes", (rule for one in nodes for rule in one.egress), storage_ids, subnet)
        yield _passes("into the nodes", (rule for one in nodes for rule in one.ingress), storage_ids, subnet)


def _ids(groups: Sequence[SecurityGroup]) -> set[str]:
    return {one.group_id for one in groups}


def _passes(way: str, rules: Iterable[Rule], peers: set[str], subnet: IPv4Network) -> Outcome:
    known = list(rules)
    closed = [ports for ports in LUSTRE_PORTS if not any(_lets(rule, ports, peers, subnet) for rule in known)]
    if not closed:
        return passed(f"{way}: open")
    text = ", ".join(f"{first}-{last}" if first != last else str(first) for first, last in closed)
    if any(rule.prefix_lists and rule.covers(*closed[0]) for rule in known):
        return unknown(f"{way}: {text} only by a prefix list", "look up whether it holds the subnet")
    return failed(f"{way}: {text} closed", f"open TCP {text} {way}, for the other side's security group")


def _lets(rule: Rule, ports: tuple[int, int], peers: set[str], subnet: IPv4Network) -> bool:
    """Whether a rule lets a peer through, by its group or by its address."""
    by_address = any(subnet.subnet_of(IPv4Network(cidr)) for cidr in rule.cidrs)
    return rule.covers(*ports) and (by_address or bool(peers & set(rule.groups)))
