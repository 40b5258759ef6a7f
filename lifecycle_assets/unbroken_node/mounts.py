"""The mount table, and the guard that every write to the shared file system passes."""

from __future__ import annotations

import re
from pathlib import Path

from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.node import Node

MOUNT_TABLE = "/proc/self/mounts"
_OCTAL = re.compile(r"\\([0-7]{3})")


def source_of(host: Host, mount_path: str) -> str | None:
    """Return what is mounted at a path (the topmost mount), or None where nothing is."""
    source = None
    for line in (host.read(MOUNT_TABLE) or "").splitlines():
        fields = [_unescape(field) for field in line.split(" ")]
        if len(fields) > 2 and fields[1] == mount_path:
            source = fields[0]
    return source


def shared_problem(host: Host, node: Node) -> str | None:
    """Return None when this deployment's file system is mounted, else what is wrong."""
    mount_path = node.settings.mount_path
    source = source_of(host, mount_path)
    if source is None:
        return f"nothing is mounted at {mount_path}"
    # Lustre may show the server's address where the DNS name was given, so only the rest is compared.
    if not source.endswith(f"@tcp:/{node.deployed.fsx_mount_name}"):
        return f"{source} is mounted at {mount_path}, not {expected_source(node)}"
    return None


def expected_source(node: Node) -> str:
    """Return what mount is asked for."""
    return f"{node.deployed.fsx_dns_name}@tcp:/{node.deployed.fsx_mount_name}"


def shared(host: Host, node: Node, name: str) -> Path:
    """Return a path of the shared file system to write to; raises NodeError while it is not mounted.

    Without this, a write would land on the node's own disk, below the mount point, and be lost from sight
    when the mount comes.
    """
    if not name.startswith(node.settings.mount_path + "/"):
        raise NodeError(f"{name} is not on the shared file system at {node.settings.mount_path}")
    problem = shared_problem(host, node)
    if problem is not None:
        raise NodeError(f"refusing to write {name}: {problem}")
    return host.path(name)


def _unescape(field: str) -> str:
    """Blanks and backslashes are octal in the mount table."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)
