"""One node, from nothing to a lifecycle script that ended well.

Order as observed on AWS: start the image, EFA check, files under /opt/ml/config, bundle, script; where groups
have a SlurmConfig the service configures the node before the script, or while it runs. A failure of the EFA
check leaves no lifecycle log.
"""

from __future__ import annotations

import logging
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from unbroken.catalog import instance_types
from unbroken.rehearsal.hyperpod import (
    addresses,
    config_files,
    deep_checks,
    host_setup,
    messages,
    network_rules,
    node_setup,
)
from unbroken.rehearsal.hyperpod.lifecycle import LifecycleSource, role_name, source_of
from unbroken.rehearsal.hyperpod.logs import PATH, LifecycleLog
from unbroken.rehearsal.hyperpod.machines import AccessDenied, Machine, MachineError, MachineSpec, NotFound
from unbroken.rehearsal.hyperpod.states import Cluster, Network, Node
from unbroken.rehearsal.hyperpod.world import World

log = logging.getLogger(__name__)


class BootFailure(Exception):
    """A node did not come up; the message is what the service shows for it."""


def boot(world: World, cluster: Cluster, node: Node, *, replacement: bool = False) -> None:
    """Bring up a fresh machine for a node and run its lifecycle script; raises BootFailure."""
    spec = cluster.groups[node.group].spec
    source = source_of(spec)
    try:
        machine = _start(world, cluster, node, role_name(spec["ExecutionRole"]))
        _check_efa(world, cluster, node, replacement=replacement)
        log = LifecycleLog(world, cluster, node, machine)
        bundle = _fetch(world, cluster.network_of(node), source, log) if source else {}
        node_setup.configure(world, cluster, node, source, bundle)
        with _configured(world, cluster, node, log):
            if source:
                _run_script(world, machine, source, log)
        deep_checks.run(world, cluster, node)
    except (MachineError, AccessDenied, NotFound, subprocess.SubprocessError) as error:
        raise BootFailure(f"{messages.MACHINE_FAILED} {error}") from error


@contextmanager
def _configured(world: World, cluster: Cluster, node: Node, log: LifecycleLog) -> Iterator[None]:
    """Have the service configure the node, where it does that: first, or while the body runs."""
    if not cluster.slurm.by_api:
        yield
        return
    problems: list[Exception] = []

    def configure() -> None:
        try:
            host_setup.run(world, cluster, node)
        except (host_setup.SetupFailure, MachineError, subprocess.SubprocessError) as error:
            problems.append(error)

    work = threading.Thread(target=configure, daemon=True)
    work.start()
    if not world.settings.slurm_while_script_runs:
        work.join()
        _tell(problems, log)
    yield
    work.join()
    _tell(problems, log)


def _tell(problems: list[Exception], log: LifecycleLog) -> None:
    if problems:
        log.note(f"[SageMaker] {problems[0]}")
        raise BootFailure(f"{messages.SOFTWARE_FAILED} {problems[0]}") from problems[0]


def _start(world: World, cluster: Cluster, node: Node, role_name: str) -> Machine:
    spec = _machine_spec(cluster, node, role_name)
    end_machine(node)
    _check_keys(world, cluster.groups[node.group].spec.get("InstanceStorageConfigs", []), role_name)
    if node.interface_id is None:
        network = cluster.network_of(node)
        node.interface_id = world.aws.attach_interface(
            network.subnet.subnet_id, network.security_group_ids, node.address, role_name
        )
    machine = world.machines.create(spec)
    _adopt(world, node, machine)
    node_setup.prepare(machine, cluster.munge_key)
    machine.boot(world.settings.boot_timeout_seconds)
    return machine


def end_machine(node: Node) -> None:
    """Power off and discard a node's machine, if it has one; its link is cut even where it does not end."""
    machine = node.machine
    if machine is None:
        return
    try:
        machine.power_off()
        machine.discard()
    except MachineError:
        log.warning("the machine of %s did not end", node.name, exc_info=True)


def _adopt(world: World, node: Node, machine: Machine) -> None:
    """Give the machine to the node, unless the node is on its way out and nobody would end the machine."""
    with world.changed:
        if not (world.closing.is_set() or node.leaving):
            node.machine = machine
            return
    machine.discard()
    raise BootFailure(messages.MACHINE_FAILED)


def _machine_spec(cluster: Cluster, node: Node, role_name: str) -> MachineSpec:
    spec, cidr = cluster.groups[node.group].spec, cluster.network_of(node).subnet.cidr
    hardware = instance_types.get(spec["InstanceType"])
    return MachineSpec(
        name=node.name,
        address=node.address,
        prefix_len=addresses.prefix_length(cidr),
        gateway=addresses.router(cidr),
        instance_type=hardware.name,
        instance_id=node.instance_id,
        role_name=role_name,
        gpus=hardware.gpus or 0,
        nvme_gib=hardware.nvme_gib or 0,
        ebs_gib=_ebs_gib(spec.get("InstanceStorageConfigs", [])),
    )


def _ebs_gib(storage: list[dict[str, dict[str, int]]]) -> int:
    """Size of the volume at /opt/sagemaker; 0 where the group has none."""
    volumes = [item["EbsVolumeConfig"] for item in storage if "EbsVolumeConfig" in item]
    return next((v.get("VolumeSizeInGB", 0) for v in volumes if not v.get("RootVolume", False)), 0)


def _check_keys(world: World, storage: list[dict[str, dict[str, str]]], role_name: str) -> None:
    """The volumes' own keys can be used."""
    for item in storage:
        key = item.get("EbsVolumeConfig", {}).get("VolumeKmsKeyId")
        if key is not None:
            world.aws.check_volume_key(key, role_name)


def _check_efa(world: World, cluster: Cluster, node: Node, *, replacement: bool) -> None:
    instance_type = cluster.groups[node.group].spec["InstanceType"]
    if not instance_types.get(instance_type).efa_interfaces:
        return
    found = [world.aws.security_group(group_id) for group_id in cluster.network_of(node).security_group_ids]
    if not network_rules.efa_reachable(group for group in found if group is not None):
        raise BootFailure(messages.REPLACEMENT_EFA_FAILED if replacement else messages.EFA_FAILED)


def _fetch(world: World, network: Network, source: LifecycleSource, log: LifecycleLog) -> dict[str, bytes]:
    """The bundle, read with the execution role's permissions, over the subnet's way to S3."""
    log.note(messages.LOG_DOWNLOADING)
    if "s3" not in world.aws.reach(network.subnet.subnet_id):
        log.note(f"[SageMaker] Connect timeout on endpoint URL: {source.s3_uri}")
        raise BootFailure(messages.LIFECYCLE_FAILED)
    try:
        bundle = world.aws.fetch(source.s3_uri, source.role_name)
    except (AccessDenied, NotFound) as error:
        log.note(f"[SageMaker] {error}")
        raise BootFailure(messages.LIFECYCLE_FAILED) from error
    if source.script not in bundle:
        log.note(f"[SageMaker] {source.script} is not below {source.s3_uri}")
        raise BootFailure(messages.LIFECYCLE_FAILED)
    return bundle


def _run_script(world: World, machine: Machine, source: LifecycleSource, log: LifecycleLog) -> None:
    """Run the script as root in its folder; its log is shipped as it grows."""
    limit = world.settings.lifecycle_timeout_seconds
    try:
        with log.following():
            done = machine.run(
                ["bash", source.script],
                timeout=limit,
                cwd=source.folder,
                env={"SAGEMAKER_RESOURCE_CONFIG_PATH": config_files.RESOURCE_CONFIG},
                stdout_path=PATH,
            )
    except subprocess.TimeoutExpired as error:
        log.note(f"[SageMaker] {source.script} did not end within {limit:g} s")
        raise BootFailure(messages.LIFECYCLE_FAILED) from error
    if done.returncode != 0:
        log.note(f"[SageMaker] {source.script} ended with exit code {done.returncode}")
        raise BootFailure(messages.LIFECYCLE_FAILED)
    log.note(messages.LOG_SUCCEEDED)
