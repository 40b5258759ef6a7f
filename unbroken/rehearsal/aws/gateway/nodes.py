"""Which node has which address, and the credentials each acts with: temporary ones of its execution role."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from unbroken.rehearsal.aws import environment
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.permissions import Principal
from unbroken.rehearsal.hyperpod.machines import Database, Machine, Machines, MachineSpec

LIFETIME = timedelta(hours=1)
RENEW_BEFORE = timedelta(minutes=10)


@dataclass(frozen=True)
class Credentials:
    """Temporary credentials of a node."""

    principal: Principal
    access_key: str
    secret_key: str
    token: str
    expires: datetime


class Directory:
    """The nodes by their address. Thread-safe."""

    def __init__(self) -> None:
        self._specs: dict[str, MachineSpec] = {}

    def add(self, spec: MachineSpec) -> None:
        """A machine now has this address; a replacement takes its predecessor's place."""
        self._specs[spec.address] = spec

    def at(self, address: str) -> MachineSpec | None:
        """The machine with this address, or None."""
        return self._specs.get(address)


class ListedMachines:
    """``Machines`` that also tell the directory of every machine they make."""

    def __init__(self, machines: Machines, directory: Directory) -> None:
        self._machines = machines
        self._directory = directory

    def create(self, spec: MachineSpec) -> Machine:
        """Make a machine and list it."""
        self._directory.add(spec)
        return self._machines.create(spec)

    def attach_file_system(self, file_system_id: str, dns_name: str, mount_name: str, size_mib: int) -> None:
        """Let the file system be mounted on every machine."""
        self._machines.attach_file_system(file_system_id, dns_name, mount_name, size_mib)

    def attach_home(self, file_system_id: str, dns_name: str, size_mib: int) -> None:
        """Let the file system for homes be mounted on every machine."""
        self._machines.attach_home(file_system_id, dns_name, size_mib)

    def attach_database(self, database: Database, neighbour: MachineSpec) -> None:
        """Have a database answer."""
        self._machines.attach_database(database, neighbour)

    def close(self) -> None:
        """End every machine."""
        self._machines.close()


class Sessions:
    """Hands out role credentials and knows whose they are. Thread-safe."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._by_instance: dict[str, Credentials] = {}
        self._by_key: dict[str, Credentials] = {}
        self._lock = threading.Lock()

    def of(self, spec: MachineSpec) -> Credentials:
        """The node's current credentials, renewed in time."""
        with self._lock:
            known = self._by_instance.get(spec.instance_id)
            if known is None or known.expires - _now() < RENEW_BEFORE:
                known = self._assume(spec)
                self._by_instance[spec.instance_id] = self._by_key[known.access_key] = known
            return known

    def find(self, access_key: str) -> Credentials | None:
        """Whose key this is, or None."""
        return self._by_key.get(access_key)

    def _assume(self, spec: MachineSpec) -> Credentials:
        arn = f"arn:aws:iam::{environment.ACCOUNT}:role/{spec.role_name}"
        sts = self._clients.of("sts")
        made = sts.assume_role(
            RoleArn=arn, RoleSessionName=spec.instance_id, DurationSeconds=int(LIFETIME.total_seconds())
        )["Credentials"]
        return Credentials(
            principal=Principal(spec.role_name, spec.instance_id),
            access_key=made["AccessKeyId"],
            secret_key=made["SecretAccessKey"],
            token=made["SessionToken"],
            expires=made["Expiration"],
        )


def _now() -> datetime:
    return datetime.now(timezone.utc)
