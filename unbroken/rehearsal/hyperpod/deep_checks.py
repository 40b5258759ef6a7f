"""Deep health checks of a new node: it sits in a maintenance reservation of Slurm until they are over.

No hardware is looked at: the checks always pass here, after the time a setting gives them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from unbroken.catalog import instance_types
from unbroken.rehearsal.hyperpod import journal
from unbroken.rehearsal.hyperpod.lifecycle import role_name
from unbroken.rehearsal.hyperpod.logs import log_group
from unbroken.rehearsal.hyperpod.states import Cluster, Node, NodeStatus
from unbroken.rehearsal.hyperpod.world import World

log = logging.getLogger(__name__)
SCONTROL = "/opt/slurm/bin/scontrol"
_SECONDS = 20.0


def run(world: World, cluster: Cluster, node: Node) -> None:
    """Put the node through its group's checks, if it has any and there is an accelerator to check."""
    spec = cluster.groups[node.group].spec
    hardware = instance_types.get(spec["InstanceType"])
    kinds = spec.get("OnStartDeepHealthChecks", [])
    if not kinds or not (hardware.gpus or hardware.neuron_devices):
        return
    journal.set_node(world, cluster, node, NodeStatus.DEEP_HEALTH_CHECK)
    with _reserved(cluster, node):
        world.clock.sleep(world.settings.deep_health_check_seconds)
    lines = [f"{kind}: passed (rehearsed: no hardware was looked at)" for kind in kinds]
    stream, role = f"DeepHealthCheckResults/{node.instance_id}", role_name(spec["ExecutionRole"])
    world.aws.put_log_lines(log_group(cluster), stream, lines, role)


@contextmanager
def _reserved(cluster: Cluster, node: Node) -> Iterator[None]:
    """Keep jobs off the node."""
    name = f"deep-health-check-{node.name}"
    given = (f"ReservationName={name}", f"Nodes={node.name}", "StartTime=now", "Duration=infinite")
    _on_controller(cluster, ("create", "reservation", *given, "Users=root", "Flags=MAINT,IGNORE_JOBS"))
    try:
        yield
    finally:
        _on_controller(cluster, ("delete", f"ReservationName={name}"))


def _on_controller(cluster: Cluster, arguments: Sequence[str]) -> None:
    for controller in cluster.controllers():
        if controller.machine is None:
            continue
        done = controller.machine.run([SCONTROL, *arguments], timeout=_SECONDS)
        if done.returncode != 0:
            log.warning("scontrol %s: %s", " ".join(arguments), done.stderr.strip())
