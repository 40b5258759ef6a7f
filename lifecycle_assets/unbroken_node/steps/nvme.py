"""40-nvme: where the instance has local NVMe, every user may use it, as everybody may use /tmp.

The image mounts it anew at every boot, and types without NVMe do not have the folder. So a unit of ours sets
the mode at every boot too, before slurmd takes jobs. Nothing there survives a replacement.
"""

from __future__ import annotations

from unbroken_node import units
from unbroken_node.host import Host
from unbroken_node.node import Node
from unbroken_node.step import Step

MODE = 0o1777
UNIT = "unbroken-nvme.service"


def check(host: Host, node: Node) -> str | None:
    """Open to all users now and after a boot, or not there at all."""
    path = node.settings.nvme_path
    if not host.path(path).is_dir():
        return None
    if host.read(units.path(UNIT)) != unit(path) or not units.is_enabled(host, UNIT):
        return f"{UNIT} is not in place"
    return None if host.mode(path) == MODE else f"{path} has mode {host.mode(path):04o}, not {MODE:04o}"


def apply(host: Host, node: Node) -> None:
    """Set the mode, now and at every boot."""
    path = node.settings.nvme_path
    host.path(path).chmod(MODE)
    units.install(host, UNIT, unit(path))
    units.enable(host, UNIT)


def unit(path: str) -> str:
    """Return the unit; dlami-nvme is the image's own, which mounts the disks."""
    return units.render(
        Unit=[
            ("Description", "Open local NVMe to all users"),
            ("After", "dlami-nvme.service local-fs.target"),
            ("Before", "slurmd.service"),
            ("ConditionPathIsDirectory", path),
        ],
        Service=[("Type", "oneshot"), ("ExecStart", f"/bin/chmod {MODE:o} {path}")],
        Install=[("WantedBy", "multi-user.target")],
    )


STEP = Step("40-nvme", check, apply)
