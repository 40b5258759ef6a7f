"""30-storage: FSx for Lustre is mounted; how is in mounting.py."""

from __future__ import annotations

from unbroken_node import mounting, mounts
from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.settings import API, SCRIPTS
from unbroken_node.step import EVERY_ROLE, Step


def check(host: Host, node: Node) -> str | None:
    """Mounted, writable, and known to systemd."""
    return mounting.check(host, node, mounts.lustre(node))


def apply(host: Host, node: Node) -> None:
    """Mount it, now and at every boot."""
    mounting.apply(host, mounts.lustre(node))


def check_mounted(host: Host, node: Node) -> str | None:
    """Mounted by HyperPod, and writable."""
    return mounting.usable(host, node, mounts.lustre(node))


def wait(host: Host, node: Node) -> None:
    """Wait for HyperPod."""
    mounting.wait(host, mounts.lustre(node))


STEP = Step("30-storage", check, apply, EVERY_ROLE, frozenset({SCRIPTS}))
API_STEP = Step("30-storage", check_mounted, wait, EVERY_ROLE, frozenset({API}))
