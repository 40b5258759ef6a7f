"""75-slurm-conf: slurm.conf has the cluster file's TaskPlugin and job containers, and keeps them."""

from __future__ import annotations

from unbroken_node import slurm, slurm_settings, units
from unbroken_node.host import Host
from unbroken_node.node import CONTROLLER, Node
from unbroken_node.slurm_settings import PATH_UNIT, SERVICE
from unbroken_node.step import EVERY_MODE, Step

SLURM_CONF_SECONDS = 60.0


def wanted(node: Node) -> bool:
    """Tell whether the cluster file says anything else than HyperPod."""
    return bool(slurm_settings.wanted(node.settings))


def check(host: Host, node: Node) -> str | None:
    """The settings are there, and somebody watches that they stay."""
    for name, text in ((SERVICE, slurm_settings.service()), (PATH_UNIT, slurm_settings.path_unit())):
        if host.read(units.path(name)) != text:
            return f"{name} is not in place"
    if not (units.is_active(host, PATH_UNIT) and units.is_enabled(host, PATH_UNIT)):
        return f"{PATH_UNIT} does not watch, or would not at boot"
    return slurm_settings.problem(host, node.settings)


def apply(host: Host, node: Node) -> None:
    """Write the settings, then watch the files."""
    written = host.path(slurm.SLURM_CONF)
    host.wait(
        f"{slurm.SLURM_CONF}, which HyperPod's cluster agent writes", written.exists, SLURM_CONF_SECONDS
    )
    slurm_settings.put(host, node.settings)
    units.install(host, SERVICE, slurm_settings.service())
    units.install(host, PATH_UNIT, slurm_settings.path_unit())
    host.run("systemctl", "daemon-reload")
    units.start(host, PATH_UNIT)


STEP = Step("75-slurm-conf", check, apply, frozenset({CONTROLLER}), EVERY_MODE, wanted)
