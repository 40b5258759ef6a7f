"""Quotas of what a cluster stands on: VPC, gateways, addresses, file systems."""

from __future__ import annotations

from typing import ClassVar

from unbroken.aws.fsx import FileSystem
from unbroken.checks.account.base import deployed
from unbroken.checks.account.quotas import compared
from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome
from unbroken.checks.subject import Subject
from unbroken.config import CLUSTER_TAG

_GET = (
    "servicequotas:GetServiceQuota",
    "servicequotas:GetAWSDefaultServiceQuota",
    "cloudformation:DescribeStacks",
)


class _NetworkQuota(Check):
    """Something that a VPC of the file's own takes one of."""

    area = Area.QUOTAS
    quota: ClassVar[str]
    service: ClassVar[str]
    code: ClassVar[str]

    def applies(self, subject: Subject) -> bool:
        """Only where a VPC is made."""
        return subject.config.network.existing is None

    def run(self, subject: Subject) -> Outcome:
        """One more than is in use; none where the network stack is there already."""
        needed = 0 if deployed(subject, "network") else 1
        allowed = subject.asked.aws.quotas.value(self.service, self.code)
        return compared(self.quota, needed, self.in_use(subject), allowed)

    def in_use(self, subject: Subject) -> int:
        """How many there are."""
        raise NotImplementedError


class QuotaVpcs(_NetworkQuota):
    """Five to a region unless raised."""

    id = "quota-vpcs"
    asks = "the region has room for one more VPC"
    faults = ("UP-009",)
    calls = (*_GET, "ec2:DescribeVpcs")
    quota, service, code = "VPCs per Region", "vpc", "L-F678F1CE"

    def in_use(self, subject: Subject) -> int:
        """VPCs."""
        return subject.asked.aws.ec2.vpcs()


class _WayOutQuota(_NetworkQuota):
    def applies(self, subject: Subject) -> bool:
        """Only where the VPC has a way out."""
        return super().applies(subject) and not subject.config.network.no_internet


class QuotaInternetGateways(_WayOutQuota):
    """As many as VPCs unless raised."""

    id = "quota-internet-gateways"
    asks = "the region has room for one more internet gateway"
    faults = ("UP-009",)
    calls = (*_GET, "ec2:DescribeInternetGateways")
    quota, service, code = "Internet gateways per Region", "vpc", "L-A4707A72"

    def in_use(self, subject: Subject) -> int:
        """Internet gateways."""
        return subject.asked.aws.ec2.internet_gateways()


class QuotaElasticIps(_WayOutQuota):
    """Five to a region unless raised."""

    id = "quota-elastic-ips"
    asks = "the region has room for one more Elastic IP address, the NAT gateway's"
    faults = ("UP-009",)
    calls = (*_GET, "ec2:DescribeAddresses")
    quota, service, code = "EC2-VPC Elastic IPs", "ec2", "L-0263D0A3"

    def in_use(self, subject: Subject) -> int:
        """Addresses."""
        return subject.asked.aws.ec2.addresses()


class QuotaNatGateways(_WayOutQuota):
    """Five to a zone unless raised."""

    id = "quota-nat-gateways"
    asks = "the zone has room for one more NAT gateway"
    faults = ("UP-009",)
    calls = (*_GET, "ec2:DescribeNatGateways", "ec2:DescribeSubnets")
    quota, service, code = "NAT gateways per Availability Zone", "vpc", "L-FE5A380F"

    def in_use(self, subject: Subject) -> int:
        """NAT gateways in the file's zone."""
        return subject.asked.aws.ec2.nat_gateways(subject.config.network.availability_zone_id)


class QuotaLustreCapacity(Check):
    """GiB of all Lustre file systems of one kind together."""

    id = "quota-lustre-capacity"
    area = Area.QUOTAS
    asks = "FSx has room for the Lustre file system beside those of its kind"
    faults = ("UP-009",)
    calls = (*_GET, "fsx:DescribeFileSystems")

    def applies(self, subject: Subject) -> bool:
        """Only where one of a fixed size is made."""
        storage = subject.config.storage
        return storage.existing is None and storage.capacity_gib is not None

    def run(self, subject: Subject) -> Outcome:
        """Capacity by deployment type; the file's own file system counts among what is in use."""
        storage, account = subject.config.storage, subject.asked
        kind = "SCRATCH" if storage.deployment_type.startswith("SCRATCH") else storage.deployment_type
        quota, code = _LUSTRE[kind]
        systems = account.once("file systems", account.aws.fsx.file_systems)
        same = [one for one in systems if one.kind == "LUSTRE" and one.deployment_type.startswith(kind)]
        needed = _more(storage.capacity_gib or 0, same, subject)
        allowed = account.aws.quotas.value("fsx", code)
        return compared(f"{quota} (GiB)", needed, sum(one.capacity_gib for one in same), allowed)


def _more(capacity: int, same: list[FileSystem], subject: Subject) -> int:
    """What is to be added: all of it, or by how much the deployed file system grows."""
    if not deployed(subject, "storage"):
        return capacity
    own = sum(one.capacity_gib for one in same if one.tags.get(CLUSTER_TAG) == subject.config.name)
    return max(0, capacity - own)


_LUSTRE = {
    "SCRATCH": ("Lustre Scratch storage capacity", "L-AD2FC696"),
    "PERSISTENT_1": ("Lustre Persistent_1 storage capacity", "L-C8640C82"),
    "PERSISTENT_2": ("Lustre Persistent_2 storage capacity", "L-8F1B9C74"),
}


class QuotaOpenzfsCapacity(Check):
    """GiB of all OpenZFS file systems together."""

    id = "quota-openzfs-capacity"
    area = Area.QUOTAS
    asks = "FSx has room for the OpenZFS file system beside the others"
    faults = ("UP-009",)
    calls = (*_GET, "fsx:DescribeFileSystems")

    def applies(self, subject: Subject) -> bool:
        """Only where one is made."""
        return subject.config.home is not None and subject.config.home.existing is None

    def run(self, subject: Subject) -> Outcome:
        """All of that kind."""
        home, account = subject.config.home, subject.asked
        systems = account.once("file systems", account.aws.fsx.file_systems)
        same = [one for one in systems if one.kind == "OPENZFS"]
        needed = _more(home.capacity_gib if home else 0, same, subject)
        allowed = account.aws.quotas.value("fsx", "L-88479C21")
        used = sum(one.capacity_gib for one in same)
        return compared("OpenZFS SSD storage capacity (GiB)", needed, used, allowed)
