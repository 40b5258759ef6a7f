"""Makes machines in namespaces (``Machines`` of the service's seams) and owns what they share.

One object a rehearsal, in the server's private mount and PID namespaces: the network, the control groups, the
file systems, the name service. A single machine is in ``machine``.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unbroken.catalog.instance_types import get
from unbroken.rehearsal.hyperpod.machines import Database, MachineError, MachineSpec
from unbroken.rehearsal.nodes import databases
from unbroken.rehearsal.nodes.cgroups import CgroupTree
from unbroken.rehearsal.nodes.lustre import Lustre
from unbroken.rehearsal.nodes.machine import NamespaceMachine, Place
from unbroken.rehearsal.nodes.network import RESOLVER_ADDRESS, Network
from unbroken.rehearsal.nodes.resolver import Resolver

AWS_PORT = 9600
"""Where the server offers the AWS APIs to nodes, on the router's address."""


@dataclass(frozen=True)
class Sizes:
    """What emulated storage may really hold. All of it is memory, taken only when written."""

    root_mib: int = 1536
    nvme_mib: int = 512
    work_mib: int = 16


_SIZES = Sizes()


class NamespaceMachines:
    """All machines of one rehearsal. Thread-safe."""

    def __init__(self, layers: Sequence[Path], work: Path, rehearsal: str, sizes: Sizes = _SIZES) -> None:
        """``work`` is an empty directory; everything below it is mounted in this mount namespace only."""
        _own_proc()
        self._layers = layers
        self._sizes = sizes
        self._work = work
        _mount("-t", "tmpfs", "-o", f"mode=755,size={sizes.work_mib}m", "unbroken", str(work))
        self.network = Network()
        self._cgroups = CgroupTree(work / "cgroup", rehearsal)
        self._lustre = Lustre(work / "lustre")
        self._resolver = Resolver(self.network.datagrams(RESOLVER_ADDRESS, 53))
        self._machines: list[NamespaceMachine] = []
        self._numbers = itertools.count(1)
        self._databases: set[str] = set()
        self._lock = threading.Lock()

    def create(self, spec: MachineSpec) -> NamespaceMachine:
        """Make a machine with a fresh root file system; it does not run before ``boot``."""
        link = f"node{next(self._numbers)}"
        place = self._place(spec, link)
        place.directory.mkdir()
        _mount("-t", "tmpfs", "-o", f"mode=755,size={self._sizes.root_mib}m", link, str(place.directory))
        _overlay(self._layers, place)
        _configure(place.root, spec)
        self._resolver.add(spec.name, spec.address)
        machine = NamespaceMachine(spec, place)
        self._machines.append(machine)
        return machine

    def attach_file_system(self, file_system_id: str, dns_name: str, mount_name: str, size_mib: int) -> None:
        """Let ``mount -t lustre <dns_name>@tcp:/<mount_name>`` succeed on every machine. Safe to repeat."""
        self._lustre.attach(file_system_id, f"{dns_name}@tcp:/{mount_name}", size_mib)
        # Nothing dials this address: the files are reached through a bind mount.
        self._resolver.add(dns_name, RESOLVER_ADDRESS)

    def attach_home(self, file_system_id: str, dns_name: str, size_mib: int) -> None:
        """Let ``mount -t nfs <dns_name>:/fsx`` succeed on every machine. Safe to repeat."""
        self._lustre.attach(file_system_id, f"{dns_name}:/fsx", size_mib)
        self._resolver.add(dns_name, RESOLVER_ADDRESS)

    def attach_database(self, database: Database, neighbour: MachineSpec) -> None:
        """Have MariaDB answer at the database's host name, on a machine of its own beside ``neighbour``.

        Safe to repeat; raises MachineError.
        """
        with self._lock:
            if database.endpoint in self._databases:
                return
            machine = self.create(databases.spec(neighbour))
            databases.start(machine, database)
            self._resolver.add(database.endpoint, machine.spec.address)
            self._databases.add(database.endpoint)

    def close(self) -> None:
        """End every machine and free what they shared. Safe to call twice."""
        for machine in self._machines:
            machine.discard()
        self._machines.clear()
        self._resolver.close()
        self.network.close()
        self._cgroups.close()
        subprocess.run(["umount", "-R", "-l", str(self._work)], capture_output=True, check=False)

    def _place(self, spec: MachineSpec, link: str) -> Place:
        return Place(
            directory=self._work / link,
            lustre=self._lustre.where,
            network=self.network,
            cgroups=self._cgroups,
            hierarchies=self._cgroups.names,
            link=link,
            efa_interfaces=get(spec.instance_type).efa_interfaces or 0,
            nvme_mib=min(self._sizes.nvme_mib, spec.nvme_gib * 1024),
            ebs=self._work / link / "ebs" if spec.ebs_gib else None,
        )


def _own_proc() -> None:
    """Make /proc show this PID namespace, where the server was started without; pids are read from it."""
    if Path("/proc/self").readlink().name != str(os.getpid()):
        _mount("-t", "proc", "proc", "/proc")


def _overlay(layers: Sequence[Path], place: Place) -> None:
    upper, scratch = place.directory / "upper", place.directory / "work"
    for directory in (upper, scratch, place.root, *([place.ebs] if place.ebs else [])):
        directory.mkdir(mode=0o755)
    lower = ":".join(str(layer) for layer in layers)
    options = f"lowerdir={lower},upperdir={upper},workdir={scratch}"
    _mount("-t", "overlay", "-o", options, "overlay", str(place.root))


def _configure(root: Path, spec: MachineSpec) -> None:
    """What a cloud image learns at its first boot: its name, its resolver, and here the AWS endpoint."""
    files = {
        "etc/hostname": f"{spec.name}\n",
        "etc/hosts": f"127.0.0.1 localhost\n{spec.address} {spec.name}\n",
        "etc/resolv.conf": f"nameserver {RESOLVER_ADDRESS}\noptions timeout:1 attempts:2\n",
        "etc/environment": f"AWS_ENDPOINT_URL=http://{spec.gateway}:{AWS_PORT}\n",
        "etc/systemd/system.conf.d/endpoint.conf": (
            f"[Manager]\nDefaultEnvironment=AWS_ENDPOINT_URL=http://{spec.gateway}:{AWS_PORT}\n"
        ),
        "etc/machine-id": "",
        "opt/rehearsal/hardware.json": json.dumps(_hardware(spec)) + "\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)


def _hardware(spec: MachineSpec) -> dict[str, object]:
    """What the replayed programs need to know."""
    kind = get(spec.instance_type)
    return {
        "instance_type": spec.instance_type,
        "gpus": spec.gpus,
        "gpu_model": f"{kind.gpu_model}-{kind.gpu_memory_gib}GB" if kind.gpu_model else "",
    }


def _mount(*args: str) -> None:
    result = subprocess.run(["mount", *args], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise MachineError(f"mount {' '.join(args)}: {result.stderr.strip()}")
