"""30-storage: FSx for Lustre is mounted, proven by the mount table and a write, and comes back at a reboot.

Options as AWS gives them (FSx for Lustre user guide, "Mounting your file system automatically"): flock so
that locks are seen by all nodes, noatime, _netdev.
"""

from __future__ import annotations

import os

from unbroken_node import mounts, units
from unbroken_node.errors import CommandFailed, NodeError
from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step

OPTIONS = "noatime,flock,_netdev"
MOUNT_SECONDS = 180.0
RETRY_SECONDS = 1.0


def check(host: Host, node: Node) -> str | None:
    """Mounted, writable, and known to systemd."""
    name = unit_name(host, node)
    if host.read(units.path(name)) != unit(node):
        return f"{name} is not in place"
    if not units.is_enabled(host, name):
        return f"{name} is not enabled, so the mount would not survive a reboot"
    return mounts.shared_problem(host, node) or _write_problem(host, node)


def apply(host: Host, node: Node) -> None:
    """Mount, trying again until the deadline; then have systemd mount at every boot."""
    _mount(host, node)
    name = unit_name(host, node)
    units.install(host, name, unit(node))
    units.enable(host, name)


def unit_name(host: Host, node: Node) -> str:
    """Return the name systemd demands for the mount path's unit."""
    return host.run("systemd-escape", "--path", "--suffix=mount", node.settings.mount_path).stdout.strip()


def unit(node: Node) -> str:
    """Return the mount unit."""
    return units.render(
        Unit=[
            ("Description", "Shared file system (FSx for Lustre)"),
            ("Wants", "network-online.target"),
            ("After", "network-online.target"),
        ],
        Mount=[
            ("What", mounts.expected_source(node)),
            ("Where", node.settings.mount_path),
            ("Type", "lustre"),
            ("Options", OPTIONS),
            ("TimeoutSec", "180"),
        ],
        Install=[("WantedBy", "multi-user.target")],
    )


def _mount(host: Host, node: Node) -> None:
    problem = mounts.shared_problem(host, node)
    if problem is None:
        return
    mount_path = node.settings.mount_path
    if mounts.source_of(host, mount_path) is not None:
        raise NodeError(problem)
    host.path(mount_path).mkdir(parents=True, exist_ok=True)
    source, last = mounts.expected_source(node), [""]

    def mounted() -> bool:
        try:
            host.run("mount", "-t", "lustre", "-o", OPTIONS, source, mount_path, timeout=60)
        except CommandFailed as error:
            last[0] = str(error)
            return False
        last[0] = "mount ended well, but the mount table does not show it"
        return mounts.shared_problem(host, node) is None

    host.wait(f"{source} at {mount_path}", mounted, MOUNT_SECONDS, found=lambda: last[0], poll=RETRY_SECONDS)


def _write_problem(host: Host, node: Node) -> str | None:
    """Write, read back and remove a file of this node's own."""
    probe = mounts.shared(host, node, f"{node.settings.mount_path}/.unbroken-write-test-{node.name}")
    try:
        with probe.open("w") as file:
            file.write(node.name)
            file.flush()
            os.fsync(file.fileno())
        if probe.read_text() != node.name:
            return f"{probe} does not read back as it was written"
        probe.unlink()
    except OSError as error:
        return f"{node.settings.mount_path} is mounted but cannot be written: {error.strerror}"
    return None


STEP = Step("30-storage", check, apply)
