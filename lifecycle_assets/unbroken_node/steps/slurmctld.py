"""80-slurmctld: the controller runs slurmctld, and can never run slurmd.

slurmd is configless: its unit deletes slurm.conf before it starts, which on the controller destroys the
cluster's configuration (observed). So its unit is renamed there, as AWS's own scripts do, and the name is
masked, so that no other file of that name can take its place.
"""

from __future__ import annotations

from unbroken_node import slurm, units
from unbroken_node.errors import DeadlineExceeded, NodeError
from unbroken_node.host import Host
from unbroken_node.node import CONTROLLER, Node
from unbroken_node.settings import API, SCRIPTS
from unbroken_node.step import Step

UNIT = "slurmctld.service"
SLURMD = "slurmd.service"
SLURMD_ASIDE = "slurmd_DO_NOT_START_ON_CONTROLLER.service"
UP_SECONDS = 60.0


def check(host: Host, node: Node) -> str | None:
    """slurmctld answers and starts at boot after slurmdbd; slurmd cannot be started."""
    if not _is_masked(host):
        return f"{SLURMD} could still be started here"
    if host.read(units.drop_in_path(UNIT)) != _drop_in():
        return f"the drop-in of {UNIT} is not in place"
    if not (units.is_active(host, UNIT) and units.is_enabled(host, UNIT)):
        return f"{UNIT} does not run, or would not start at boot"
    return None if slurm.controller_answers(host) else "slurmctld does not answer"


def apply(host: Host, node: Node) -> None:
    """Put slurmd out of reach, then start slurmctld."""
    _mask_slurmd(host)
    units.install_drop_in(host, UNIT, _drop_in())
    units.start(host, UNIT)
    try:
        host.wait("slurmctld to answer", lambda: slurm.controller_answers(host), UP_SECONDS)
    except DeadlineExceeded as error:
        raise NodeError(f"{error}; {units.last_words(host, UNIT)}") from None


def _drop_in() -> str:
    return units.restarting([("Wants", "slurmdbd.service"), ("After", "slurmdbd.service")])


def _is_masked(host: Host) -> bool:
    link = host.path(units.path(SLURMD))
    return link.is_symlink() and str(link.readlink()) == "/dev/null"


def _mask_slurmd(host: Host) -> None:
    if _is_masked(host):
        return
    if units.is_active(host, SLURMD):
        raise NodeError("slurmd runs on the controller, where starting it deletes slurm.conf: stop it first")
    unit = host.path(units.path(SLURMD))
    if unit.exists():
        unit.replace(host.path(units.path(SLURMD_ASIDE)))
    unit.symlink_to("/dev/null")


def check_answers(host: Host, node: Node) -> str | None:
    """It answers, as HyperPod started it."""
    return None if slurm.controller_answers(host) else "slurmctld does not answer"


def wait(host: Host, node: Node) -> None:
    """Wait for HyperPod, which may still be starting it."""
    host.wait(
        "HyperPod to start slurmctld",
        lambda: slurm.controller_answers(host),
        slurm.HYPERPOD_SECONDS,
        found=lambda: units.last_words(host, UNIT),
        poll=1.0,
    )


STEP = Step("80-slurmctld", check, apply, frozenset({CONTROLLER}), frozenset({SCRIPTS}))
API_STEP = Step("80-slurmctld", check_answers, wait, frozenset({CONTROLLER}), frozenset({API}))
