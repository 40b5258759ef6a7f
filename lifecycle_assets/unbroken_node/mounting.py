"""Mounting one of the cluster's file systems: proven by the mount table and a write, and again at every boot.

In `api` mode HyperPod mounts them, by the groups' InstanceStorageConfigs; there the node only looks, and
waits, since the mount may come while the steps run already.
"""

from __future__ import annotations

import os

from unbroken_node import mounts, units
from unbroken_node.errors import CommandFailed, NodeError
from unbroken_node.host import Host
from unbroken_node.mounts import Share
from unbroken_node.node import Node

MOUNT_SECONDS = 180.0
HYPERPOD_SECONDS = 300.0
RETRY_SECONDS = 1.0


def check(host: Host, node: Node, share: Share) -> str | None:
    """Mounted, writable, and known to systemd."""
    name = unit_name(host, share)
    if host.read(units.path(name)) != unit(share):
        return f"{name} is not in place"
    if not units.is_enabled(host, name):
        return f"{name} is not enabled, so the mount would not survive a reboot"
    return usable(host, node, share)


def apply(host: Host, share: Share) -> None:
    """Mount, trying again until the deadline; then have systemd mount at every boot."""
    _mount(host, share)
    name = unit_name(host, share)
    units.install(host, name, unit(share))
    units.enable(host, name)


def usable(host: Host, node: Node, share: Share) -> str | None:
    """Mounted and writable, whoever did it."""
    return mounts.problem(host, share) or _write_problem(host, node, share)


def wait(host: Host, share: Share) -> None:
    """Wait for HyperPod to mount it."""
    host.wait(
        f"HyperPod to mount {share.source} at {share.path}",
        lambda: mounts.problem(host, share) is None,
        HYPERPOD_SECONDS,
        found=lambda: mounts.problem(host, share) or "",
        poll=RETRY_SECONDS,
    )


def unit_name(host: Host, share: Share) -> str:
    """Return the name systemd demands for the mount path's unit."""
    return host.run("systemd-escape", "--path", "--suffix=mount", share.path).stdout.strip()


def unit(share: Share) -> str:
    """Return the mount unit."""
    return units.render(
        Unit=[
            ("Description", f"Shared file system ({share.title})"),
            ("Wants", "network-online.target"),
            ("After", "network-online.target"),
        ],
        Mount=[
            ("What", share.source),
            ("Where", share.path),
            ("Type", share.kind),
            ("Options", share.options),
            ("TimeoutSec", "180"),
        ],
        Install=[("WantedBy", "multi-user.target")],
    )


def _mount(host: Host, share: Share) -> None:
    problem = mounts.problem(host, share)
    if problem is None:
        return
    if mounts.source_of(host, share.path) is not None:
        raise NodeError(problem)
    host.path(share.path).mkdir(parents=True, exist_ok=True)
    last = [""]

    def mounted() -> bool:
        try:
            host.run("mount", "-t", share.kind, "-o", share.options, share.source, share.path, timeout=60)
        except CommandFailed as error:
            last[0] = str(error)
            return False
        last[0] = "mount ended well, but the mount table does not show it"
        return mounts.problem(host, share) is None

    what = f"{share.source} at {share.path}"
    host.wait(what, mounted, MOUNT_SECONDS, found=lambda: last[0], poll=RETRY_SECONDS)


def _write_problem(host: Host, node: Node, share: Share) -> str | None:
    """Write, read back and remove a file of this node's own."""
    probe = mounts.shared(host, node, f"{share.path}/.unbroken-write-test-{node.name}")
    try:
        with probe.open("w") as file:
            file.write(node.name)
            file.flush()
            os.fsync(file.fileno())
        if probe.read_text() != node.name:
            return f"{probe} does not read back as it was written"
        probe.unlink()
    except OSError as error:
        hint = "; does its export squash root?" if share.kind == "nfs" else ""
        return f"{share.path} is mounted but cannot be written: {error.strerror}{hint}"
    return None
