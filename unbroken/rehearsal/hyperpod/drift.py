"""Partitions changed by hand, and what SlurmConfigStrategy makes of them when the cluster is updated.

Managed: the update is refused. Overwrite: the cluster agent writes slurm.conf as the API has it. Merge: the
agent keeps them. The three words are the API's; what they do is this project's reading of the guide.
"""

from __future__ import annotations

import re
from subprocess import SubprocessError

from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.machines import MachineError
from unbroken.rehearsal.hyperpod.node_setup import SLURM_CONF
from unbroken.rehearsal.hyperpod.states import Cluster

EVERYTHING = "dev"
_PARTITION = re.compile(rb"(?im)^\s*PartitionName\s*=\s*([^\s]+)")


def strategy(cluster: Cluster) -> str:
    """The cluster's SlurmConfigStrategy; Managed where none is given."""
    return str(cluster.request.get("Orchestrator", {}).get("Slurm", {}).get("SlurmConfigStrategy", "Managed"))


def check(cluster: Cluster) -> None:
    """With Managed raise ValidationException where slurm.conf has other partitions than the API."""
    if not cluster.slurm.by_api or strategy(cluster) != "Managed":
        return
    strange = sorted(partitions_on_controller(cluster) - {EVERYTHING, *cluster.slurm.partitions.values()})
    if strange:
        raise validation(
            f"Partitions {', '.join(strange)} of cluster {cluster.name} were changed outside of the API, and "
            "its SlurmConfigStrategy is Managed."
        )


def partitions_on_controller(cluster: Cluster) -> set[str]:
    """The names in the controller's slurm.conf; none where it cannot be read."""
    for node in cluster.controllers():
        try:
            text = node.machine.get(SLURM_CONF) if node.machine is not None else b""
        except (OSError, MachineError, SubprocessError):
            continue
        return {name.decode() for name in _PARTITION.findall(text)}
    return set()
