"""What the emulated HyperPod service needs from outside: machines to boot, and the rest of AWS.

Protocols and the plain values that cross them live here; implementations do not. Machines in namespaces are
in ``unbroken.rehearsal.nodes``, paper machines in ``paper.py``, the AWS side in ``unbroken.rehearsal.aws``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from subprocess import CompletedProcess
from types import MappingProxyType
from typing import Protocol

NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


class MachineError(Exception):
    """A machine could not be made, booted or reached; the message says which and what was waited for."""


class AccessDenied(Exception):
    """The execution role's policies do not allow a call; the message names the action and the resource."""


class NotFound(Exception):
    """The object asked for does not exist; the message names it."""


@dataclass(frozen=True)
class MachineSpec:
    """One machine as the service wants it; ``name`` is the host name (``ip-10-0-128-10``)."""

    name: str
    address: str
    prefix_len: int
    gateway: str
    instance_type: str
    instance_id: str
    role_name: str
    gpus: int
    nvme_gib: int
    ebs_gib: int


class Machine(Protocol):
    """One booted or bootable machine."""

    @property
    def spec(self) -> MachineSpec:
        """What it was made from."""

    @property
    def pid(self) -> int:
        """Process id of its init in the server's PID namespace; 0 where there is none."""

    def boot(self, timeout: float) -> None:
        """Return when its init is up, within ``timeout`` seconds; raises MachineError."""

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a whole file at an absolute path, replacing it in one step; parent directories are made."""

    def get(self, path: str) -> bytes:
        """Read a whole file; raises FileNotFoundError."""

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str = "/",
        env: Mapping[str, str] = NO_ENVIRONMENT,
        stdout_path: str | None = None,
    ) -> CompletedProcess[str]:
        """Run a program as root inside and wait; raises subprocess.TimeoutExpired after ``timeout`` seconds.

        With ``stdout_path`` both output streams are appended to that file inside the machine, as they come.
        """

    def alive(self) -> bool:
        """Whether its init runs."""

    def reboot(self) -> None:
        """End all its processes and boot again on the same root file system."""

    def power_off(self) -> None:
        """Cut its link, then kill its init. The root stays until ``discard``. Safe on a dead machine."""

    def discard(self) -> None:
        """Free its root file system. Safe to call twice."""


class Machines(Protocol):
    """A place that makes machines."""

    def create(self, spec: MachineSpec) -> Machine:
        """Make a machine with a fresh root file system; it does not run before ``boot``."""

    def attach_file_system(self, file_system_id: str, dns_name: str, mount_name: str, size_mib: int) -> None:
        """Let ``mount -t lustre <dns_name>@tcp:/<mount_name>`` succeed on every machine. Safe to repeat."""

    def attach_home(self, file_system_id: str, dns_name: str, size_mib: int) -> None:
        """Let ``mount -t nfs <dns_name>:/fsx`` succeed on every machine. Safe to repeat."""

    def attach_database(self, database: Database, neighbour: MachineSpec) -> None:
        """Have a MariaDB server answer at the database's host name, in the neighbour's subnet.

        Safe to repeat; raises MachineError.
        """

    def close(self) -> None:
        """End everything it made."""


@dataclass(frozen=True)
class Role:
    """An IAM role as far as the service looks at it."""

    name: str
    arn: str
    trusted_services: frozenset[str]
    """Service principals its trust policy lets assume it, such as ``sagemaker.amazonaws.com``."""


@dataclass(frozen=True)
class Subnet:
    """A subnet of the customer's VPC."""

    subnet_id: str
    vpc_id: str
    cidr: str
    availability_zone_id: str = ""
    addresses_in_use: frozenset[str] = frozenset()
    """Private addresses other interfaces hold (a NAT gateway's, a file system's)."""


@dataclass(frozen=True)
class SecurityGroup:
    """A security group: does an all-traffic rule refer to the group itself, in each direction?"""

    group_id: str
    vpc_id: str
    self_ingress: bool
    self_egress: bool


@dataclass(frozen=True)
class FileSystem:
    """An FSx file system nodes may mount."""

    file_system_id: str
    dns_name: str
    mount_name: str
    """Lustre's mount name; empty for OpenZFS, whose root volume is always ``/fsx``."""
    size_mib: int = field(default=0)
    """Size offered to the nodes in MiB; 0 lets the machines choose."""


@dataclass(frozen=True)
class Reach:
    """What can be reached from a subnet: everything by a NAT gateway, or single AWS services by endpoints."""

    internet: bool
    services: frozenset[str] = frozenset()
    """Services with a VPC endpoint, as in its name: ``s3``, ``logs``, ``secretsmanager``."""

    def __contains__(self, service: str) -> bool:
        return self.internet or service in self.services


@dataclass(frozen=True)
class Database:
    """A MySQL-compatible server outside the cluster, and the account Slurm's accounting uses there."""

    endpoint: str
    port: int
    user: str
    password: str


class NodeStore(Protocol):
    """What the service needs of the rest of AWS. Called from several threads at once."""

    def role(self, arn: str) -> Role | None:
        """The role with this ARN, or None."""

    def subnet(self, subnet_id: str) -> Subnet | None:
        """The subnet, or None."""

    def security_group(self, group_id: str) -> SecurityGroup | None:
        """The security group, or None."""

    def file_systems(self) -> Sequence[FileSystem]:
        """All Lustre file systems there are now."""

    def homes(self) -> Sequence[FileSystem]:
        """All OpenZFS file systems there are now."""

    def reach(self, subnet_id: str) -> Reach:
        """What can be reached from a subnet, by its routes and the VPC's endpoints."""

    def secret(self, arn: str, role_name: str) -> Mapping[str, str]:
        """A secret's JSON object, read with the role's permissions; raises AccessDenied or NotFound."""

    def fetch(self, s3_uri: str, role_name: str) -> dict[str, bytes]:
        """All objects below ``s3://bucket/prefix``, by their key relative to the prefix.

        ``s3:ListBucket`` and ``s3:GetObject`` are evaluated against the role's policies.
        Raises AccessDenied, or NotFound where the bucket does not exist; an empty prefix gives an empty dict.
        """

    def check_volume_key(self, key_id: str, role_name: str) -> None:
        """A KMS key with which volumes can be encrypted by this role; raises AccessDenied or NotFound."""

    def attach_interface(
        self, subnet_id: str, security_group_ids: Sequence[str], address: str, role_name: str
    ) -> str:
        """Put a network interface with this private address into the subnet and return its id.

        Evaluated against the role's policies; raises AccessDenied.

        While it is there the subnet and the security groups cannot be deleted, as on AWS.
        """

    def detach_interface(self, interface_id: str) -> None:
        """Delete the interface. Safe to repeat."""

    def put_log_lines(self, group: str, stream: str, lines: Sequence[str], role_name: str) -> None:
        """Append lines to a CloudWatch log stream, making group and stream where they do not exist.

        Evaluated against the role's policies; raises AccessDenied.
        """
