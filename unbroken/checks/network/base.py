"""What checks of a VPC brought along share."""

from __future__ import annotations

from collections.abc import Sequence

from unbroken.aws.vpc import RouteTable, SecurityGroup, Subnet
from unbroken.checks.check import Area, Check
from unbroken.checks.subject import Subject
from unbroken.config.network import ExistingNetwork

ANYWHERE = "0.0.0.0/0"


class NetworkCheck(Check):
    """A check of the parts of ``network.existing``."""

    area = Area.NETWORK

    def applies(self, subject: Subject) -> bool:
        """Only for a VPC brought along."""
        return subject.config.network.existing is not None


def existing(subject: Subject) -> ExistingNetwork:
    """The section; LookupError where there is none, which ``applies`` rules out."""
    found = subject.config.network.existing
    if found is None:
        raise LookupError("no VPC is brought along")
    return found


def subnet_ids(subject: Subject) -> list[str]:
    """Every subnet of the file that is there already: the private one, and those that groups name by id."""
    by_group = [one.subnet for one in subject.config.groups() if (one.subnet or "").startswith("subnet-")]
    return list(dict.fromkeys([existing(subject).private_subnet_id, *map(str, by_group)]))


def subnets(subject: Subject) -> list[Subnet]:
    """Those of them that exist."""
    account, ids = subject.asked, subnet_ids(subject)
    return account.once(f"subnets {ids}", lambda: account.aws.ec2.subnets(ids))


def private_subnet(subject: Subject) -> Subnet | None:
    """The nodes' subnet, if it exists."""
    wanted = existing(subject).private_subnet_id
    return next((one for one in subnets(subject) if one.subnet_id == wanted), None)


def groups_of_file(subject: Subject) -> list[str]:
    """Ids of every security group that the file brings along, those of single instance groups too."""
    own = [one for group in subject.config.groups() for one in group.security_group_ids]
    return list(dict.fromkeys([*existing(subject).security_group_ids, *own]))


def security_groups(subject: Subject, ids: Sequence[str]) -> list[SecurityGroup]:
    """Those of the groups that exist."""
    account = subject.asked
    return account.once(f"groups {list(ids)}", lambda: account.aws.ec2.security_groups(ids))


def route_table(subject: Subject, subnet_id: str) -> RouteTable | None:
    """The table a subnet uses: its own by association, else the VPC's main one."""
    account, vpc = subject.asked, existing(subject).vpc_id
    tables = account.once(f"routes {vpc}", lambda: account.aws.ec2.route_tables(vpc))
    own = next((table for table in tables if subnet_id in table.subnets), None)
    return own or next((table for table in tables if table.main), None)
