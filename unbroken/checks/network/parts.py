"""VPC, subnets and their addresses."""

from __future__ import annotations

from unbroken.aws.vpc import Subnet
from unbroken.catalog import instance_types
from unbroken.checks.account.base import deployed
from unbroken.checks.network.base import (
    NetworkCheck,
    existing,
    groups_of_file,
    security_groups,
    subnet_ids,
    subnets,
)
from unbroken.checks.result import Outcome, failed, listed, passed, together, unknown
from unbroken.checks.subject import Subject
from unbroken.config import InstanceGroup


class NetworkVpc(NetworkCheck):
    """FSx and endpoints are found by name."""

    id = "network-vpc"
    asks = "the VPC is there and resolves names; subnets and security groups are there and belong to it"
    faults = ("UP-084",)
    calls = ("ec2:DescribeVpcAttribute", "ec2:DescribeSubnets", "ec2:DescribeSecurityGroups")

    def run(self, subject: Subject) -> Outcome:
        """Everything the file names by id."""
        vpc = existing(subject).vpc_id
        resolves = subject.asked.aws.ec2.vpc_dns(vpc)
        if resolves is None:
            return failed(f"there is no {vpc} in {subject.asked.region}", "correct network.existing.vpc_id")
        if not resolves:
            return failed(f"{vpc} does not resolve names", f"turn enableDnsSupport on for {vpc}")
        homes = {one.subnet_id: one.vpc_id for one in subnets(subject)}
        homes |= {one.group_id: one.vpc_id for one in security_groups(subject, groups_of_file(subject))}
        wanted = [*subnet_ids(subject), *groups_of_file(subject)]
        absent = [one for one in wanted if one not in homes]
        strange = [f"{one} (in {homes[one]})" for one in wanted if one in homes and homes[one] != vpc]
        if absent or strange:
            return failed(f"not in {vpc}: {listed([*absent, *strange])}", "correct the ids in the file")
        return passed(f"{vpc} with {listed(wanted)}")


class NetworkSubnetZone(NetworkCheck):
    """Nodes, file system and training plan have to share a zone."""

    id = "network-subnet-zone"
    asks = "the private subnet is in the file's zone, and a planned group's subnet in its plan's zone"
    faults = ("UP-008",)
    calls = ("ec2:DescribeSubnets",)

    def run(self, subject: Subject) -> Outcome:
        """The private subnet, and subnets that groups name by id."""
        zones = {one.subnet_id: one.zone_id for one in subnets(subject)}
        wanted = {existing(subject).private_subnet_id: subject.config.network.availability_zone_id}
        for group in subject.config.worker_groups:
            if group.subnet in subnet_ids(subject) and group.training_plan:
                wanted[str(group.subnet)] = group.training_plan.availability_zone_id
        wrong = [
            f"{one} is in {zones.get(one, 'no zone')}"
            for one, zone in wanted.items()
            if zones.get(one) != zone
        ]
        if wrong:
            fix = f"use a subnet in {listed(dict.fromkeys(wanted.values()))}, or correct the zone in the file"
            return failed(listed(wrong), fix)
        return passed(", ".join(f"{one} in {zone}" for one, zone in wanted.items()))


class NetworkAddresses(NetworkCheck):
    """A node of a type with many network cards takes many addresses; a replacement takes them again."""

    id = "network-addresses"
    asks = (
        "each subnet has free addresses for its nodes, and for one more of the largest while it is replaced"
    )
    calls = ("ec2:DescribeSubnets", "cloudformation:DescribeStacks")

    def run(self, subject: Subject) -> Outcome:
        """Each subnet with its groups."""
        found = subnets(subject)
        if not found:
            return unknown("no subnet was found", "see network-vpc")
        return together(self._judge(one, _groups_in(one, subject), subject) for one in found)

    def _judge(self, subnet: Subnet, groups: list[InstanceGroup], subject: Subject) -> Outcome:
        each = {group.name: instance_types.get(group.instance_type).addresses_slurm for group in groups}
        strange = [group.instance_type for group in groups if each[group.name] is None]
        if strange:
            fix = "look the type's network cards up, and compare by hand"
            return unknown(f"{subnet.subnet_id}: addresses of {listed(strange)} are not known", fix)
        known = {name: number or 0 for name, number in each.items()}
        spare = max(known.values(), default=0)
        nodes = sum(group.num_instances * known[group.name] for group in groups)
        needed = spare if deployed(subject, "cluster") else nodes + spare
        said = f"{subnet.subnet_id}: {subnet.free_addresses} free, {needed} needed"
        if needed > subnet.free_addresses:
            return failed(said, "use a larger subnet, or spread the groups over several")
        return passed(said)


def _groups_in(subnet: Subnet, subject: Subject) -> list[InstanceGroup]:
    private = existing(subject).private_subnet_id
    return [one for one in subject.config.groups() if (one.subnet or private) == subnet.subnet_id]
