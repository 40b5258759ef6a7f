"""85-slurmd: compute and login nodes run slurmd, which fetches its configuration from the controller.

The image's unit has a `$SLURMD_OPTIONS` placeholder for where the controllers are (observed, in AWS's own
scripts). Without it slurmd asks DNS for a record that does not exist, for ever.

Older images leave login nodes out of slurm.conf (observed). They are not provided for: slurmd cannot run
there, and this step ends with an error that says so.
"""

from __future__ import annotations

import re

from unbroken_node import slurm, units
from unbroken_node.errors import DeadlineExceeded, NodeError
from unbroken_node.host import Host
from unbroken_node.node import COMPUTE, LOGIN, Node
from unbroken_node.settings import API, SCRIPTS
from unbroken_node.step import Step

UNIT = "slurmd.service"
SLURMCTLD = "slurmctld.service"
CONTROLLER_SECONDS = 300.0
REGISTERED_SECONDS = 120.0
_OPTIONS = re.compile(r"\$\{?SLURMD_OPTIONS\}?|--conf-server[ =]\S+")


def check(host: Host, node: Node) -> str | None:
    """slurmd knows the controllers, runs, starts at boot, and slurmctld has heard from it."""
    text = host.read(units.path(UNIT))
    if text is None or options(node) not in text:
        return f"{units.path(UNIT)} does not name the controllers"
    if host.read(units.drop_in_path(UNIT)) != _drop_in(node):
        return f"the drop-in of {UNIT} is not in place"
    if not (units.is_active(host, UNIT) and units.is_enabled(host, UNIT)):
        return f"{UNIT} does not run, or would not start at boot"
    if units.is_enabled(host, SLURMCTLD):
        return f"{SLURMCTLD} would start here at boot"
    return _registration_problem(host, slurm.node_fields(host, host.hostname()))


def apply(host: Host, node: Node) -> None:
    """Fill the unit in, wait for a controller, start slurmd, wait until slurmctld has heard from it."""
    changed = _fill_in(host, node)
    units.install_drop_in(host, UNIT, _drop_in(node))
    if units.is_enabled(host, SLURMCTLD) or units.is_active(host, SLURMCTLD):
        host.run("systemctl", "disable", "--now", SLURMCTLD)
    host.wait(
        f"a controller to be ready at {' or '.join(node.controllers)}, port {slurm.SLURMCTLD_PORT}",
        lambda: any(host.answers(address, slurm.SLURMCTLD_PORT) for address in node.controllers),
        CONTROLLER_SECONDS,
    )
    if changed and units.is_active(host, UNIT):
        host.run("systemctl", "stop", UNIT, timeout=units.START_SECONDS)
    units.start(host, UNIT)
    _wait_until_registered(host)


def options(node: Node) -> str:
    """Return what slurmd is told."""
    servers = ",".join(f"{address}:{slurm.SLURMCTLD_PORT}" for address in node.controllers)
    return f"--conf-server {servers}"


def filled_in(text: str, node: Node) -> str:
    """Return the unit's text with the controllers in place of the placeholder, or of earlier controllers."""
    new, count = _OPTIONS.subn(options(node), text)
    if count == 0:
        raise NodeError(f"{units.path(UNIT)} has neither $SLURMD_OPTIONS nor --conf-server to fill in")
    return new


def _fill_in(host: Host, node: Node) -> bool:
    """Fill the unit in; tell whether that changed anything."""
    path = units.path(UNIT)
    text = host.read(path)
    if text is None:
        raise NodeError(f"{path} does not exist; HyperPod's image comes with it")
    new = filled_in(text, node)
    if new == text:
        return False
    units.install(host, UNIT, new)
    return True


def _drop_in(node: Node) -> str:
    """No job may run on a node whose shared file system is not mounted."""
    return units.restarting([("RequiresMountsFor", node.settings.mount_path)])


def _wait_until_registered(host: Host) -> None:
    try:
        host.wait(
            f"slurmctld to hear from {host.hostname()}",
            lambda: _silence(host) is None,
            REGISTERED_SECONDS,
            found=lambda: _silence(host) or "",
            poll=0.2,
        )
    except DeadlineExceeded as error:
        raise NodeError(f"{error}; {units.last_words(host, UNIT)}") from None


def _silence(host: Host) -> str | None:
    """Return None once slurmctld has registered this slurmd and reaches it."""
    fields = slurm.node_fields(host, host.hostname())
    state = fields.get("State", "")
    if "NOT_RESPONDING" in state or "*" in state:
        return f"{host.hostname()} is {state}"
    return _registration_problem(host, fields)


def _registration_problem(host: Host, fields: dict[str, str]) -> str | None:
    """A replaced node has its predecessor's name, so only a registration of *this* slurmd counts.

    A drained or failed node is registered too: whoever set that state, this does not undo it.
    """
    if not fields:
        return f"slurmctld does not answer, or does not know {host.hostname()}"
    registered = slurm.slurmd_start(fields)
    if registered is None or registered < int(units.started_at(host, UNIT)):
        return f"{host.hostname()} is {fields.get('State')} and this slurmd has not registered"
    return None


def check_registered(host: Host, node: Node) -> str | None:
    """slurmd runs, as HyperPod started it, and slurmctld has heard from it."""
    if not units.is_active(host, UNIT):
        return f"{UNIT} does not run"
    return _silence(host)


def wait(host: Host, node: Node) -> None:
    """Wait for HyperPod, which may still be starting it."""
    host.wait(
        f"HyperPod to start slurmd on {host.hostname()}",
        lambda: check_registered(host, node) is None,
        slurm.HYPERPOD_SECONDS,
        found=lambda: check_registered(host, node) or "",
        poll=0.5,
    )


STEP = Step("85-slurmd", check, apply, frozenset({COMPUTE, LOGIN}), frozenset({SCRIPTS}))
API_STEP = Step("85-slurmd", check_registered, wait, frozenset({COMPUTE, LOGIN}), frozenset({API}))
