"""Machines for the tests that need them: two booted nodes a module, in a mount namespace of their own."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from unbroken.rehearsal.hyperpod.machines import MachineSpec
from unbroken.rehearsal.nodes import rootfs
from unbroken.rehearsal.nodes.lab import spec
from unbroken.rehearsal.nodes.machine import NamespaceMachine
from unbroken.rehearsal.nodes.machines import NamespaceMachines

CLONE_NEWNS = 0x20000
MUNGE_KEY = b"k" * 128
DNS_NAME = "fs-0abc.fsx.us-west-2.amazonaws.com"


@pytest.fixture(scope="session")
def private_mounts() -> None:
    """From here on this process mounts for itself only."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        pytest.skip("no mount namespace can be made here")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


@pytest.fixture(scope="module")
def machines(private_mounts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NamespaceMachines]:
    """An empty place for machines."""
    layers = rootfs.layers(rootfs.ensure(print))
    made = NamespaceMachines(layers, tmp_path_factory.mktemp("machines"), f"test-{os.getpid()}")
    made.attach_file_system("fs-0abc", DNS_NAME, "abcd", 64)
    yield made
    made.close()


def booted(machines: NamespaceMachines, wanted: MachineSpec) -> NamespaceMachine:
    """A machine with munge's key, up."""
    machine = machines.create(wanted)
    machine.put("/etc/munge/munge.key", MUNGE_KEY, 0o400)
    machine.boot(timeout=60)
    return machine


@pytest.fixture(scope="module")
def pair(machines: NamespaceMachines) -> tuple[NamespaceMachine, NamespaceMachine]:
    """A GPU node and a node without."""
    plain = spec(1, instance_type="ml.m5.12xlarge", gpus=0)
    return booted(machines, spec(0)), booted(machines, plain)


@pytest.fixture
def node(pair: tuple[NamespaceMachine, NamespaceMachine]) -> NamespaceMachine:
    """The GPU node."""
    return pair[0]


@pytest.fixture
def image() -> Path:
    """The image tree in the source."""
    return Path(rootfs.__file__).parent / "image"
