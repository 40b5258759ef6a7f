"""95-environment: the controller builds the ranks' Python on the shared file system, in the background.

It takes minutes and a way to a package index, so nothing waits for it, and a node comes up without it: a job
that finds no interpreter says so. The unit runs again at each boot and, until it has succeeded, each minute.
What it does is the trainer's own environment.py, of the version that was deployed: another version makes
another unit, which starts anew. Where the cluster file names another interpreter or a container, nothing is
built.
"""

from __future__ import annotations

from unbroken_node import units
from unbroken_node.host import Host
from unbroken_node.node import CONTROLLER, Node
from unbroken_node.step import EVERY_MODE, Step

UNIT = "unbroken-environment.service"
_AT_WORK = ("active", "activating", "reloading")


def wanted(node: Node) -> bool:
    """Tell whether the job's interpreter is the one that is built here."""
    return node.settings.builds_environment


def check(host: Host, node: Node) -> str | None:
    """The unit of this version is in place, starts at boot, and has built it or is at it."""
    if host.read(units.path(UNIT)) != service(node):
        return f"{UNIT} is not in place"
    if not units.is_enabled(host, UNIT):
        return f"{UNIT} would not start at boot"
    state = host.run("systemctl", "show", "--value", "--property=ActiveState", UNIT).stdout.strip()
    return None if state in _AT_WORK else f"{UNIT} is {state}"


def apply(host: Host, node: Node) -> None:
    """Install the unit and start it, without waiting for its end.

    One of an earlier version is stopped first: what is cut short here must not look done at the next look.
    """
    if host.read(units.path(UNIT)) is not None:
        host.run("systemctl", "stop", UNIT, timeout=units.START_SECONDS)
    units.install(host, UNIT, service(node))
    host.run("systemctl", "enable", "--now", "--no-block", UNIT)


def service(node: Node) -> str:
    """Return the unit. A oneshot that remains: `active` once it has succeeded."""
    root = node.settings.training_root
    builder = f"{root}/{node.deployed.training_version}/training/launch/environment.py"
    return units.render(
        Unit=[
            ("Description", "Python of the training jobs, on the shared file system"),
            ("RequiresMountsFor", node.settings.mount_path),
            ("Wants", "network-online.target"),
            ("After", "network-online.target"),
            ("StartLimitIntervalSec", "0"),
        ],
        Service=[
            ("Type", "oneshot"),
            ("RemainAfterExit", "yes"),
            ("ExecStart", f"/usr/bin/python3 {builder} --root {root}"),
            ("TimeoutStartSec", "3600"),
            ("Restart", "on-failure"),
            ("RestartSec", "60"),
            ("Nice", "10"),
        ],
        Install=[("WantedBy", "multi-user.target")],
    )


STEP = Step("95-environment", check, apply, frozenset({CONTROLLER}), EVERY_MODE, wanted)
