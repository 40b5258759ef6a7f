"""The cluster's file systems, the mount table, and the guard that every write to one of them passes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.node import Node

MOUNT_TABLE = "/proc/self/mounts"
# FSx for Lustre user guide, "Mounting your file system automatically": flock so that locks are seen by all
# nodes. FSx for OpenZFS user guide, "Mounting a file system from a Linux instance": version and sizes.
LUSTRE_OPTIONS = "noatime,flock,_netdev"
NFS_OPTIONS = "noatime,nfsvers=4.2,nconnect=16,rsize=1048576,wsize=1048576,_netdev"
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Share:
    """A file system that all nodes mount at the same path."""

    title: str
    path: str
    kind: str
    """What `mount -t` is told."""
    source: str
    """What mount is asked for."""
    ending: str
    """How the mount table's source ends: it may show the server's address where its name was given."""
    options: str


def lustre(node: Node) -> Share:
    """Return the shared file system."""
    end = f"@tcp:/{node.deployed.fsx_mount_name}"
    source = f"{node.deployed.fsx_dns_name}{end}"
    return Share("FSx for Lustre", node.settings.mount_path, "lustre", source, end, LUSTRE_OPTIONS)


def home(node: Node) -> Share | None:
    """Return the file system of the home directories, or None where they are on the shared one."""
    if node.settings.home_mount_path is None:
        return None
    name = node.deployed.home_dns_name
    if name is None:
        raise NodeError("node.json has a home file system, and deployed.json has no home_dns_name")
    path = node.settings.home_mount_path
    return Share("FSx for OpenZFS", path, "nfs", f"{name}:/fsx", ":/fsx", NFS_OPTIONS)


def holding(node: Node, name: str) -> Share:
    """Return the file system that a path belongs on; raises NodeError for a path on none of them."""
    shares = [share for share in (lustre(node), home(node)) if share and name.startswith(share.path + "/")]
    if not shares:
        raise NodeError(f"{name} is on no file system of the cluster")
    return max(shares, key=lambda share: len(share.path))


def source_of(host: Host, mount_path: str) -> str | None:
    """Return what is mounted at a path (the topmost mount), or None where nothing is."""
    source = None
    for line in (host.read(MOUNT_TABLE) or "").splitlines():
        fields = [_unescape(field) for field in line.split(" ")]
        if len(fields) > 2 and fields[1] == mount_path:
            source = fields[0]
    return source


def problem(host: Host, share: Share) -> str | None:
    """Return None when this file system is mounted where it belongs, else what is wrong."""
    source = source_of(host, share.path)
    if source is None:
        return f"nothing is mounted at {share.path}"
    if not source.rstrip("/").endswith(share.ending):
        return f"{source} is mounted at {share.path}, not {share.source}"
    return None


def problem_at(host: Host, node: Node, name: str) -> str | None:
    """Return None when the file system that a path belongs on is mounted, else what is wrong."""
    return problem(host, holding(node, name))


def shared(host: Host, node: Node, name: str) -> Path:
    """Return a path to write to; raises NodeError while the file system it belongs on is not mounted.

    Without this, a write would land on the node's own disk, below the mount point, and be lost from sight
    when the mount comes.
    """
    found = problem_at(host, node, name)
    if found is not None:
        raise NodeError(f"refusing to write {name}: {found}")
    return host.path(name)


def _unescape(field: str) -> str:
    """Blanks and backslashes are octal in the mount table."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)
