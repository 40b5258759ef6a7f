"""The cluster file's ``home`` section: FSx for OpenZFS for the users' home directories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from unbroken.catalog.fsx import openzfs
from unbroken.config.fields import DnsName, MountPath
from unbroken.config.section import Fault, Section, ineffective, refusal


def file_system_id(value: str) -> str:
    """The rule of a file system's id."""
    if not re.fullmatch(r"fs-[0-9a-f]{8,40}", value):
        raise refusal("is not the id of a file system", "write it as fs-0123456789abcdef0")
    return value


FileSystemId = Annotated[str, AfterValidator(file_system_id)]


class ExistingHome(Section):
    """An OpenZFS file system that is there already, in the cluster's VPC."""

    file_system_id: FileSystemId
    """Its id."""
    dns_name: DnsName
    """Its DNS name."""


class HomeConfig(Section):
    """Home directories on FSx for OpenZFS instead of on the Lustre file system."""

    deployment_type: Literal["SINGLE_AZ_1", "SINGLE_AZ_2", "SINGLE_AZ_HA_1", "SINGLE_AZ_HA_2"] = (
        "SINGLE_AZ_HA_2"
    )
    """HA has a standby server in the same zone."""
    capacity_gib: Annotated[int, Field(ge=64, le=524_288)] = 64
    """Size, GiB."""
    throughput_mbps: int = 160
    """Throughput bought, MB/s."""
    compression: Literal["ZSTD", "LZ4", "NONE"] = "ZSTD"
    """Compression of data at rest."""
    backup_days: Annotated[int, Field(ge=0, le=90)] = 30
    """Days that automatic daily backups are kept; 0 turns them off."""
    mount_path: MountPath = "/home"
    """Where every node mounts it."""
    existing: ExistingHome | None = None
    """Use this one instead of making one."""
    deletion: Literal["retain", "delete"] = "retain"
    """What a destroy does with it."""

    @property
    def kept(self) -> bool:
        """Whether it is made here and a destroy leaves it."""
        return self.existing is None and self.deletion == "retain"

    def faults(self) -> Iterator[Fault]:
        """What FSx would refuse, and what would have no effect."""
        if self.existing is not None:
            yield from ineffective(self, {"existing", "mount_path"}, "home.existing")
        else:
            near = openzfs.throughput_problem(self.deployment_type, self.throughput_mbps)
            if near:
                rule = f"is not a throughput of {self.deployment_type}"
                hint = f"use {' or '.join(str(each) for each in near)}"
                yield Fault(("throughput_mbps",), self.throughput_mbps, rule, hint)
