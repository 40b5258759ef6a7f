"""Many nodes at once: planning them, bringing them up (controller first), and taking them down."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from unbroken.rehearsal.hyperpod import addresses, journal, messages
from unbroken.rehearsal.hyperpod.boot import BootFailure, boot, end_machine
from unbroken.rehearsal.hyperpod.errors import validation
from unbroken.rehearsal.hyperpod.states import Cluster, Node, NodeStatus, Sighting
from unbroken.rehearsal.hyperpod.together import together
from unbroken.rehearsal.hyperpod.world import World

log = logging.getLogger(__name__)


def plan(world: World, cluster: Cluster, wanted: Mapping[str, int]) -> list[Node]:
    """New nodes for each group's number of missing instances; call it with the lock held.

    Addresses go to the controller group first. Raises ValidationException where a subnet is full.
    """
    order = sorted(wanted, key=lambda name: name != cluster.slurm.controller_group)
    places = [place for name in order for place in _places(cluster, name, wanted[name])]
    free = _addresses(world, cluster, [group for group, _ in places])
    now = world.clock.now()
    nodes = [
        Node(group, index, address, addresses.new_instance_id(), now, [Sighting(now, NodeStatus.PENDING, "")])
        for (group, index), address in zip(places, free, strict=True)
    ]
    cluster.nodes.extend(nodes)
    return nodes


def _addresses(world: World, cluster: Cluster, groups: list[str]) -> list[str]:
    """A free address for each place, in the subnet of its group."""
    taken = frozenset(node.address for other in world.clusters.values() for node in other.nodes)
    subnets = {cluster.groups[name].network.subnet for name in groups}
    try:
        free = {
            subnet.subnet_id: iter(
                addresses.allocate(
                    subnet.cidr,
                    sum(cluster.groups[name].network.subnet == subnet for name in groups),
                    taken | subnet.addresses_in_use,
                )
            )
            for subnet in subnets
        }
    except ValueError as error:
        raise validation(f"Insufficient free addresses: {error}.") from None
    return [next(free[cluster.groups[name].network.subnet.subnet_id]) for name in groups]


def _places(cluster: Cluster, group: str, count: int) -> list[tuple[str, int]]:
    used = {node.index for node in cluster.members(group)}
    free = (index for index in range(1, len(used) + count + 1) if index not in used)
    return [(group, index) for index, _ in zip(free, range(count), strict=False)]


def launch(world: World, cluster: Cluster, nodes: list[Node]) -> list[Node]:
    """Bring nodes up, the controller before all others; returns those that failed.

    Where the controller fails no other node is started: its failure is theirs.
    """
    attach_file_systems(world)
    first = [node for node in nodes if cluster.is_controller(node)]
    rest = [node for node in nodes if not cluster.is_controller(node)]
    failed = bring_up_all(world, cluster, first)
    if failed:
        for node in rest:
            journal.set_node(world, cluster, node, NodeStatus.FAILURE, failed[0].message)
        return failed + rest
    return bring_up_all(world, cluster, rest)


def bring_up_all(world: World, cluster: Cluster, nodes: list[Node]) -> list[Node]:
    """Bring nodes up in parallel; returns those that failed."""
    worked = together(lambda node: bring_up(world, cluster, node), nodes)
    return [node for node, ok in zip(nodes, worked, strict=True) if not ok]


def bring_up(world: World, cluster: Cluster, node: Node, *, replacement: bool = False) -> bool:
    """Boot one node and give it the status that came of it."""
    try:
        boot(world, cluster, node, replacement=replacement)
    except BootFailure as failure:
        journal.set_node(world, cluster, node, NodeStatus.FAILURE, str(failure))
        return False
    except Exception as error:  # a fault of the rehearsal's own must not leave the cluster waiting for ever
        log.exception("%s was not brought up", node.name)
        text = messages.INTERNAL.format(error=f"{type(error).__name__}: {error}")
        journal.set_node(world, cluster, node, NodeStatus.FAILURE, text)
        return False
    journal.set_node(world, cluster, node, NodeStatus.RUNNING, "")
    return True


def attach_file_systems(world: World) -> None:
    """Let the machines mount every file system there is."""
    for system in world.aws.file_systems():
        world.machines.attach_file_system(
            system.file_system_id, system.dns_name, system.mount_name, system.size_mib
        )
    for home in world.aws.homes():
        world.machines.attach_home(home.file_system_id, home.dns_name, home.size_mib)


def take_down(world: World, cluster: Cluster, nodes: Iterable[Node]) -> None:
    """Power nodes off in parallel, free what they held, and forget them."""
    leaving = list(nodes)
    mark_leaving(world, cluster, leaving)
    together(lambda node: _end(world, node), leaving)
    with world.changed:
        cluster.nodes = [node for node in cluster.nodes if node not in leaving]
        journal.write_nodes(world)
        world.changed.notify_all()


def mark_leaving(world: World, cluster: Cluster, nodes: Iterable[Node]) -> None:
    """Show nodes as ShuttingDown and give them no machine any more. Safe to repeat."""
    with world.changed:
        fresh = [node for node in nodes if not node.leaving]
        for node in fresh:
            node.leaving = True
    for node in fresh:
        journal.set_node(world, cluster, node, NodeStatus.SHUTTING_DOWN)


def _end(world: World, node: Node) -> None:
    end_machine(node)
    if node.interface_id is not None and not world.closing.is_set():
        world.aws.detach_interface(node.interface_id)
        node.interface_id = None
