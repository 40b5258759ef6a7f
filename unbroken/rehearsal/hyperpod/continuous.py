"""NodeProvisioningMode Continuous: a cluster is in service with its heads; workers come when they come.

A group that does not reach its MinInstanceCount in time goes back to the size it had.
"""

from __future__ import annotations

from collections.abc import Mapping

from unbroken.rehearsal.hyperpod import fleet, journal, messages
from unbroken.rehearsal.hyperpod.states import Cluster, ClusterStatus, Group, Node, NodeStatus
from unbroken.rehearsal.hyperpod.together import together
from unbroken.rehearsal.hyperpod.world import World


def split(cluster: Cluster, nodes: list[Node]) -> tuple[list[Node], list[Node]]:
    """The nodes an operation waits for, and those it does not; without Continuous it waits for all."""
    if not cluster.continuous:
        return nodes, []
    heads = cluster.slurm.heads
    first = [node for node in nodes if node.group in heads]
    return first, [node for node in nodes if node.group not in heads]


def fill(world: World, cluster: Cluster, nodes: list[Node], previous: Mapping[str, int]) -> None:
    """Boot nodes again and again, group by group at once, until they run or their group's time is over."""
    with world.changed:
        for node in nodes:
            node.operation = "Provision"
    names = sorted({node.group for node in nodes})
    together(
        lambda name: _fill_group(
            world, cluster, cluster.groups[name], [n for n in nodes if n.group == name], previous.get(name, 0)
        ),
        names,
    )


def _fill_group(world: World, cluster: Cluster, group: Group, missing: list[Node], before: int) -> None:
    deadline = world.clock.now() + world.settings.min_count_timeout_seconds
    while missing and not _ended(world, cluster):
        missing = _tried(world, cluster, missing)
        if not missing or _running(cluster, group) >= max(group.minimum, 1):
            group.status = "InService"
        elif group.minimum and world.clock.now() >= deadline:
            _roll_back(world, cluster, group, before)
            return
        if missing:
            world.clock.sleep(world.settings.continuous_retry_seconds)


def _tried(world: World, cluster: Cluster, missing: list[Node]) -> list[Node]:
    """Boot them once; those still missing. A node that came up, or is to leave, is free for others again."""
    failed = fleet.bring_up_all(world, cluster, missing)
    with world.changed:
        still = [node for node in failed if not node.leaving]
        for node in missing:
            if node not in still:
                node.operation, node.released = None, world.clock.now()
    return still


def _running(cluster: Cluster, group: Group) -> int:
    return sum(node.status is NodeStatus.RUNNING for node in cluster.members(group.name))


def _ended(world: World, cluster: Cluster) -> bool:
    return world.closing.is_set() or cluster.status is ClusterStatus.DELETING


def _roll_back(world: World, cluster: Cluster, group: Group, before: int) -> None:
    leaving = cluster.members(group.name)[before:]
    fleet.take_down(world, cluster, leaving)
    with world.changed:
        text = messages.MIN_COUNT_NOT_MET.format(group=group.name, minimum=group.minimum)
        counts = {"InstanceCount": before, "MinInstanceCount": min(group.minimum, before)}
        group.spec = {**group.spec, **counts}
        group.status = "InService" if before else "Failed"
    journal.set_cluster(world, cluster, cluster.status, text)
