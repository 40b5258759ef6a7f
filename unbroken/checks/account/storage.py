"""File systems and buckets that are brought along."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.aws.fsx import FileSystem
from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, failed, listed, passed, together, unknown
from unbroken.checks.subject import Subject

HEALTHY = ("AVAILABLE", "UPDATING")
LUSTRE_VERSIONS = ("2.12", "2.15")
"""Versions that the clients on HyperPod's images mount."""


def _judge_file_system(found: FileSystem, kind: str, vpc: str | None) -> Iterator[str]:
    """What is wrong with any file system brought along."""
    if found.kind != kind:
        yield f"it is {found.kind}"
    if found.state not in HEALTHY:
        yield f"it is {found.state}"
    if vpc and found.vpc_id != vpc:
        yield f"it is in {found.vpc_id}, the nodes in {vpc}"


def _vpc(subject: Subject) -> str | None:
    existing = subject.config.network.existing
    return existing.vpc_id if existing else None


class FileSystemThere(Check):
    """The names in the file are what nodes mount, so they have to be the file system's."""

    id = "file-system"
    area = Area.PARTS
    asks = (
        "the Lustre file system is there, available, of a version nodes mount, with the names the file gives"
    )
    faults = ("UP-026", "UP-062", "UP-084")
    calls = ("fsx:DescribeFileSystems",)

    def applies(self, subject: Subject) -> bool:
        """Only with one brought along."""
        return subject.config.storage.existing is not None

    def run(self, subject: Subject) -> Outcome:
        """By its id."""
        wanted = subject.config.storage.existing
        if wanted is None:
            raise LookupError("no file system is brought along")
        account = subject.asked
        name = wanted.file_system_id
        found = account.once(f"file system {name}", lambda: account.aws.fsx.file_system(name))
        if found is None:
            return failed(
                f"there is no {name} in {account.region}", "correct storage.existing.file_system_id"
            )
        wrong = list(_judge_file_system(found, "LUSTRE", _vpc(subject)))
        if found.version not in LUSTRE_VERSIONS:
            wrong.append(f"its version is {found.version or 'unknown'}")
        for word, here, there in (
            ("DNS name", wanted.dns_name, found.dns_name),
            ("mount name", wanted.mount_name, found.mount_name),
        ):
            wrong += [f"its {word} is {there}"] if here != there else []
        if wrong:
            return failed(f"{name}: {listed(wrong)}", "correct storage.existing, or bring another along")
        return passed(f"{name}: {found.deployment_type}, {found.version}, {found.state}")


class FileSystemZone(Check):
    """Lustre across zones works, slowly, and every gigabyte is charged."""

    id = "file-system-zone"
    area = Area.PARTS
    asks = "the Lustre file system is in the nodes' zone"
    faults = ("UP-008", "UP-026")
    calls = ("fsx:DescribeFileSystems", "ec2:DescribeSubnets")

    def applies(self, subject: Subject) -> bool:
        """Only with one brought along."""
        return subject.config.storage.existing is not None

    def run(self, subject: Subject) -> Outcome:
        """By its subnet's zone."""
        wanted, account = subject.config.storage.existing, subject.asked
        name = wanted.file_system_id if wanted else ""
        found = account.once(f"file system {name}", lambda: account.aws.fsx.file_system(name))
        if found is None:
            return unknown(f"{name} was not found", "see file-system")
        zones = {one.zone_id for one in account.aws.ec2.subnets(found.subnets)}
        zone = subject.config.network.availability_zone_id
        if not zones:
            return unknown(f"the subnet of {name} was not found", "look its zone up in the console")
        if zones != {zone}:
            return failed(f"{name} is in {listed(sorted(zones))}, the nodes in {zone}", "move one of the two")
        return passed(zone)


class HomeFileSystem(Check):
    """Home directories on OpenZFS are mounted by its DNS name."""

    id = "home-file-system"
    area = Area.PARTS
    asks = "the OpenZFS file system is there, available, with the DNS name the file gives"
    faults = ("UP-084",)
    calls = ("fsx:DescribeFileSystems",)

    def applies(self, subject: Subject) -> bool:
        """Only with one brought along."""
        return subject.config.home is not None and subject.config.home.existing is not None

    def run(self, subject: Subject) -> Outcome:
        """By its id."""
        wanted = subject.config.home.existing if subject.config.home else None
        if wanted is None:
            raise LookupError("no home file system is brought along")
        found = subject.asked.aws.fsx.file_system(wanted.file_system_id)
        if found is None:
            return failed(f"there is no {wanted.file_system_id}", "correct home.existing.file_system_id")
        wrong = list(_judge_file_system(found, "OPENZFS", _vpc(subject)))
        wrong += [f"its DNS name is {found.dns_name}"] if found.dns_name != wanted.dns_name else []
        if wrong:
            return failed(f"{found.file_system_id}: {listed(wrong)}", "correct home.existing")
        return passed(f"{found.file_system_id}: {found.deployment_type}, {found.state}")


class BucketsReachable(Check):
    """FSx refuses to link a bucket it cannot read, when the file system is already there."""

    id = "buckets"
    area = Area.PARTS
    asks = "every bucket brought along is there, in the region, readable, and not empty where it is only read"
    faults = ("UP-025", "UP-061")
    calls = ("s3:ListBucket",)

    def applies(self, subject: Subject) -> bool:
        """Only with a bucket brought along."""
        return bool(_buckets(subject))

    def run(self, subject: Subject) -> Outcome:
        """Each bucket with its prefix."""
        return together(self._judge(*bucket, subject) for bucket in _buckets(subject))

    def _judge(self, name: str, prefix: str, read_only: bool, subject: Subject) -> Outcome:
        account = subject.asked
        bucket = account.aws.s3.bucket(name)
        if bucket is None:
            return failed(f"there is no bucket {name}", "correct its name in the file, or make it")
        if bucket.region and bucket.region != account.region:
            return failed(f"{name} is in {bucket.region}", f"use a bucket in {account.region}")
        if read_only and not account.aws.s3.holds(name, f"{prefix}/" if prefix else ""):
            where = f"{name}/{prefix}"
            return failed(f"{where}: nothing there to import", "correct the prefix, or put an object there")
        return passed(f"{name}{'/' + prefix if prefix else ''}: readable")


def _buckets(subject: Subject) -> list[tuple[str, str, bool]]:
    """Name, prefix, and whether the cluster only reads it."""
    storage = subject.config.storage
    repositories = [one for one in storage.data_repositories if one.bucket]
    found = [(str(one.bucket), one.prefix, not one.export_events) for one in repositories]
    return [*found, *([(storage.lifecycle_bucket, "", False)] if storage.lifecycle_bucket else [])]
