"""87-login: no job runs on a login node.

HyperPod's images differ (observed): current ones have login nodes in Slurm, in the partition `dev` with all
others, so that a job of several nodes would take one. Each login node reserves itself for root. A reservation
leaves the node's state to those who recover it, outlasts a replacement under the same name, and is kept by
slurmctld, so slurm.conf may be written anew. Commands such as sbatch and sacct work as before.
"""

from __future__ import annotations

from unbroken_node import slurm
from unbroken_node.host import Host
from unbroken_node.node import LOGIN, Node
from unbroken_node.step import Step

# Slurm cuts `infinite` short, to a year.
END_TIME = "2037-12-31T00:00:00"


def check(host: Host, node: Node) -> str | None:
    """The node's reservation exists and holds the node."""
    name = host.hostname()
    fields = slurm.reservation_fields(host, reservation(name))
    return None if fields.get("Nodes") == name else f"there is no reservation {reservation(name)} of {name}"


def apply(host: Host, node: Node) -> None:
    """Make the reservation."""
    name = host.hostname()
    host.run(
        *("scontrol", "create", "reservation", f"ReservationName={reservation(name)}", f"Nodes={name}"),
        *("StartTime=now", f"EndTime={END_TIME}", "Users=root", "Flags=IGNORE_JOBS"),
    )


def reservation(hostname: str) -> str:
    """Return the name of a login node's reservation."""
    return f"login-{hostname}"


STEP = Step("87-login", check, apply, frozenset({LOGIN}))
