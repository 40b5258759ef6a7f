"""35-home: FSx for OpenZFS is mounted for the home directories, where the cluster has one.

AWS's images may lack the NFS client; AWS's own scripts install it then, and so does this.
"""

from __future__ import annotations

from unbroken_node import mounting, mounts, packages
from unbroken_node.host import Host
from unbroken_node.mounts import Share
from unbroken_node.node import Node
from unbroken_node.settings import API, SCRIPTS
from unbroken_node.step import EVERY_ROLE, Step

CLIENT = "/sbin/mount.nfs"
PACKAGE = "nfs-common"


def wanted(node: Node) -> bool:
    """Tell whether the cluster has one."""
    return node.settings.home_mount_path is not None


def check(host: Host, node: Node) -> str | None:
    """Mounted, writable, and known to systemd."""
    return mounting.check(host, node, _share(node))


def apply(host: Host, node: Node) -> None:
    """Mount it, now and at every boot."""
    if not host.path(CLIENT).exists():
        packages.install(host, PACKAGE)
    mounting.apply(host, _share(node))


def check_mounted(host: Host, node: Node) -> str | None:
    """Mounted by HyperPod, and writable."""
    return mounting.usable(host, node, _share(node))


def wait(host: Host, node: Node) -> None:
    """Wait for HyperPod."""
    mounting.wait(host, _share(node))


def _share(node: Node) -> Share:
    share = mounts.home(node)
    if share is None:
        raise ValueError("the step is for clusters with a home file system")
    return share


STEP = Step("35-home", check, apply, EVERY_ROLE, frozenset({SCRIPTS}), wanted)
API_STEP = Step("35-home", check_mounted, wait, EVERY_ROLE, frozenset({API}), wanted)
