"""40-nvme: where the instance has local NVMe, every user may use it, as everybody may use /tmp.

The image mounts it; types without NVMe do not have the folder. Nothing there survives a replacement.
"""

from __future__ import annotations

from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step

MODE = 0o1777


def check(host: Host, node: Node) -> str | None:
    """Open to all users, or not there at all."""
    path = node.settings.nvme_path
    if not host.path(path).is_dir() or host.mode(path) == MODE:
        return None
    return f"{path} has mode {host.mode(path):04o}, not {MODE:04o}"


def apply(host: Host, node: Node) -> None:
    """Set the mode."""
    host.path(node.settings.nvme_path).chmod(MODE)


STEP = Step("40-nvme", check, apply)
