"""What the service puts on a machine before its script runs: files, the munge key, Slurm's configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from subprocess import SubprocessError

from unbroken.rehearsal.hyperpod import config_files, transfer
from unbroken.rehearsal.hyperpod.lifecycle import PARAMETERS_FILE, LifecycleSource
from unbroken.rehearsal.hyperpod.machines import Machine, MachineError
from unbroken.rehearsal.hyperpod.states import Cluster, Node
from unbroken.rehearsal.hyperpod.world import World

MARKER = "/opt/sagemaker_cluster"
MUNGE_KEY = "/etc/munge/munge.key"
PREPARE = ("sh", "-c", f"mkdir -p {MARKER} && chown munge:munge {MUNGE_KEY}")
SLURM_CONF = "/opt/slurm/etc/slurm.conf"
_SHORT = 30.0
"""Seconds a small command may take inside a machine."""


def configure(
    world: World, cluster: Cluster, node: Node, source: LifecycleSource | None, bundle: dict[str, bytes]
) -> None:
    """Write files and bundle, and on the controller wait for the slurm.conf the agent makes of them."""
    machine = node.machine
    if machine is None:
        raise MachineError(f"{node.name} has no machine")
    files = config_files.node_files(cluster, node, source, bundle, world.settings)
    placed = _placed(source, bundle) if source else {}
    transfer.put_all(machine, files | placed, world.clock.now())
    with world.changed:
        resources = config_files.resource_config(cluster)
    machine.put(config_files.RESOURCE_CONFIG, resources)
    node.resource_config = resources
    if cluster.is_controller(node) and f"{config_files.FOLDER}/{PARAMETERS_FILE}" in files:
        _wait_for_slurm_conf(world, machine)


def _placed(source: LifecycleSource, bundle: dict[str, bytes]) -> dict[str, bytes]:
    """The bundle where the service unpacks it. S3 keeps no modes, so no file is executable."""
    return {
        f"{source.folder}/{relative}": data
        for relative, data in bundle.items()
        if not relative.endswith("/") and ".." not in PurePosixPath(relative).parts
    }


def push_resource_config(world: World, cluster: Cluster) -> None:
    """Give all running nodes the new resource_config.json: the controller now, the others later."""
    with world.changed:
        text = config_files.resource_config(cluster)
        _put_parts(world, cluster)
    _put_where_alive(cluster, text, cluster.is_controller)

    def late() -> None:
        world.clock.sleep(world.settings.worker_config_lag_seconds)
        with world.changed:
            fresh = config_files.resource_config(cluster)
        _put_where_alive(cluster, fresh, lambda node: not cluster.is_controller(node))

    world.spawn("resource-config", late)


def _put_parts(world: World, cluster: Cluster) -> None:
    """Give the controller the files that say which group is what, where the API may have changed that.

    The cluster agent reads them together with resource_config.json, which follows.
    """
    if not cluster.slurm.by_api:
        return
    for node in cluster.controllers():
        if node.machine is None or not node.machine.alive():
            continue
        files = config_files.node_files(cluster, node, None, {}, world.settings)
        try:
            for path, data in files.items():
                if node.machine.get(path) != data:
                    node.machine.put(path, data)
        except (MachineError, OSError, SubprocessError):
            continue


def _put_where_alive(cluster: Cluster, text: bytes, wanted: Callable[[Node], bool]) -> None:
    for node in list(cluster.nodes):
        machine = node.machine
        # The agent has Slurm reconfigured whenever the file is written: an unchanged one is left alone.
        if machine is None or not wanted(node) or node.resource_config == text or not machine.alive():
            continue
        try:
            machine.put(config_files.RESOURCE_CONFIG, text)
            node.resource_config = text
        except (MachineError, OSError, SubprocessError):
            continue  # it died meanwhile; its replacement gets the file at boot


def prepare(machine: Machine, munge_key: bytes) -> None:
    """What is on the disk before the first boot. The munge key is the service's, the same on all nodes."""
    machine.put(MUNGE_KEY, munge_key, 0o400)
    done = machine.run(PREPARE, timeout=_SHORT)
    if done.returncode != 0:
        raise MachineError(f"{machine.spec.name} could not be prepared: {done.stderr.strip()}")


def _wait_for_slurm_conf(world: World, machine: Machine) -> None:
    """The lifecycle script starts slurmctld, so the agent's file must be there before it."""
    limit = world.settings.slurm_conf_timeout_seconds
    deadline = world.clock.now() + limit
    while not _has(machine, SLURM_CONF):
        if world.clock.now() >= deadline:
            raise MachineError(
                f"{machine.spec.name}: the cluster agent wrote no {SLURM_CONF} within {limit:g} s"
            )
        world.clock.sleep(0.1)


def _has(machine: Machine, path: str) -> bool:
    try:
        return bool(machine.get(path))
    except FileNotFoundError:
        return False
