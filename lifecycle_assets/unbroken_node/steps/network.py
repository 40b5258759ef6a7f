"""20-network: the node can reach what the next steps need.

HyperPod restarts the resolver around the time the lifecycle script starts (observed), so names may fail for
a moment: this waits for them, with a deadline, instead of sleeping.
"""

from __future__ import annotations

from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step

REACHABLE_SECONDS = 120.0


def check(host: Host, node: Node) -> str | None:
    """A route out of the node, and an address for each file system's name."""
    if not host.run("ip", "-4", "route", "show", "default").stdout.strip():
        return "the node has no default route"
    for name in (node.deployed.fsx_dns_name, node.deployed.home_dns_name):
        if name is not None and not host.resolves(name):
            return f"{name} does not resolve"
    return None


def apply(host: Host, node: Node) -> None:
    """Wait: nothing on a node can make its network come faster."""
    host.wait(
        "the network",
        lambda: check(host, node) is None,
        REACHABLE_SECONDS,
        found=lambda: check(host, node) or "",
    )


STEP = Step("20-network", check, apply)
