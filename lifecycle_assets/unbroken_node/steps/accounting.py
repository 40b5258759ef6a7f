"""70-accounting: MariaDB, slurmdbd and the registered cluster, before slurmctld starts on the controller.

slurm.conf, which HyperPod's agent writes, includes accounting.conf; the agent leaves that file empty and
never writes it again, so it is ours. It names the controller's address, never localhost, since every node
reads it. Options: Slurm's accounting page and slurmdbd.conf(5).
"""

from __future__ import annotations

from unbroken_node import database, slurm, units
from unbroken_node.errors import DeadlineExceeded, NodeError
from unbroken_node.host import Host
from unbroken_node.node import CONTROLLER, Node
from unbroken_node.settings import API, SCRIPTS
from unbroken_node.step import Step

ACCOUNTING_CONF = f"{slurm.ETC}/accounting.conf"
SLURMDBD_CONF = f"{slurm.ETC}/slurmdbd.conf"
SLURMDBD_LOG = "/var/log/slurm/slurmdbd.log"
UNIT = "slurmdbd.service"
UP_SECONDS = 90.0
SLURM_CONF_SECONDS = 60.0


def check(host: Host, node: Node) -> str | None:
    """Files as they must be, slurmdbd running at every boot, the cluster registered."""
    if not database.is_private(host):
        return f"{database.PASSWORD} is missing or can be read by others than root"
    problem = _files_problem(host, node)
    if problem is not None:
        return problem
    for unit in (database.UNIT, UNIT):
        if not (units.is_active(host, unit) and units.is_enabled(host, unit)):
            return f"{unit} does not run, or would not start at boot"
    name = slurm.cluster_name(host)
    return (
        None if name in (_clusters(host, node) or []) else f"cluster {name} is not registered with slurmdbd"
    )


def apply(host: Host, node: Node) -> None:
    """Bring accounting up in the order in which its parts need one another."""
    host.wait(
        f"{slurm.SLURM_CONF}, which HyperPod's cluster agent writes",
        host.path(slurm.SLURM_CONF).exists,
        SLURM_CONF_SECONDS,
    )
    database.start(host)
    database.prepare(host)
    changed = _write_files(host, node)
    if changed:
        host.run("systemctl", "stop", UNIT, timeout=units.START_SECONDS)
    units.start(host, UNIT)
    _wait_for_slurmdbd(host, node)
    _register(host, node)
    if changed and units.is_active(host, "slurmctld.service"):
        # It reads where accounting is only when it starts.
        host.run("systemctl", "restart", "slurmctld.service", timeout=units.START_SECONDS)


def accounting_conf(node: Node) -> str:
    """Return accounting.conf."""
    return (
        "# Slurm accounting, included by slurm.conf; written by the lifecycle bundle.\n"
        "AccountingStorageType=accounting_storage/slurmdbd\n"
        f"AccountingStorageHost={node.address}\n"
        f"AccountingStoragePort={slurm.SLURMDBD_PORT}\n"
        "JobAcctGatherType=jobacct_gather/linux\n"
        "JobAcctGatherFrequency=30\n"
    )


def slurmdbd_conf(node: Node, hostname: str, password: str) -> str:
    """Return slurmdbd.conf; it holds the password."""
    return (
        "# Slurm's accounting daemon; written by the lifecycle bundle. Keep it readable by slurm alone.\n"
        "AuthType=auth/munge\n"
        f"DbdHost={hostname}\n"
        f"DbdAddr={node.address}\n"
        f"DbdPort={slurm.SLURMDBD_PORT}\n"
        "SlurmUser=slurm\n"
        f"LogFile={SLURMDBD_LOG}\n"
        "StorageType=accounting_storage/mysql\n"
        "StorageHost=localhost\n"
        f"StorageUser={database.USER}\n"
        f"StoragePass={password}\n"
        f"StorageLoc={database.DATABASE}\n"
    )


def drop_in(node: Node) -> str:
    """Return the drop-in that makes slurmdbd count as started only once it answers.

    slurmctld starts after it, at every boot; one that finds no slurmdbd and no saved state hangs for a
    minute and a half and then ends (seen with Slurm 22.05).
    """
    answers = f": </dev/tcp/{node.address}/{slurm.SLURMDBD_PORT}"
    wait = f"/bin/bash -c 'until {answers}; do sleep 0.1; done 2>/dev/null'"
    return units.restarting(
        [("Wants", database.UNIT), ("After", database.UNIT)],
        [("ExecStartPost", wait), ("TimeoutStartSec", "90")],
    )


def _contents(host: Host, node: Node) -> list[tuple[str, str, int, str]]:
    """Return (path, text, mode, owner) of the files of this step."""
    conf = slurmdbd_conf(node, host.hostname(), database.password(host))
    return [
        (ACCOUNTING_CONF, accounting_conf(node), 0o644, "root:root"),
        (SLURMDBD_CONF, conf, 0o600, "slurm:slurm"),
    ]


def _files_problem(host: Host, node: Node) -> str | None:
    for path, text, mode, owner in _contents(host, node):
        if host.read(path) != text:
            return f"{path} is not as it must be"
        if host.mode(path) != mode or host.owner_names(path) != owner:
            return f"{path} is {host.owner_names(path)} {host.mode(path):04o}, not {owner} {mode:04o}"
    if host.read(units.drop_in_path(UNIT)) != drop_in(node):
        return f"the drop-in of {UNIT} is not in place"
    return None


def _write_files(host: Host, node: Node) -> bool:
    """Write what differs; tell whether anything did."""
    changed = _files_problem(host, node) is not None
    for path, text, mode, owner in _contents(host, node):
        if host.read(path) != text or host.mode(path) != mode or host.owner_names(path) != owner:
            host.write(path, text, mode, owner)
    units.install_drop_in(host, UNIT, drop_in(node))
    return changed


def _wait_for_slurmdbd(host: Host, node: Node) -> None:
    try:
        host.wait("slurmdbd to answer", lambda: _clusters(host, node) is not None, UP_SECONDS)
    except DeadlineExceeded as error:
        log = (host.read(SLURMDBD_LOG) or "").strip().splitlines()[-3:]
        said = " / ".join(log) or "nothing"
        raise NodeError(f"{error}; {units.last_words(host, UNIT)}; {SLURMDBD_LOG} ends: {said}") from None


def _register(host: Host, node: Node) -> None:
    name = slurm.cluster_name(host)
    if name not in (_clusters(host, node) or []):
        host.run("sacctmgr", "--immediate", "add", "cluster", name)


def _clusters(host: Host, node: Node) -> list[str] | None:
    """Return the clusters slurmdbd knows, or None while it does not answer."""
    if not host.answers(node.address, slurm.SLURMDBD_PORT):
        return None  # asked anyway, sacctmgr would go on trying
    listed = host.run(
        "sacctmgr", "--noheader", "--parsable2", "list", "cluster", "format=Cluster", accept=range(256)
    )
    return listed.stdout.split() if listed.code == 0 else None


def check_registered(host: Host, node: Node) -> str | None:
    """Accounting as HyperPod set it up: slurmdbd answers and knows the cluster."""
    name = slurm.cluster_name(host)
    known = _clusters(host, node)
    if known is None:
        return "slurmdbd does not answer"
    return None if name in known else f"cluster {name} is not registered with slurmdbd"


def wait(host: Host, node: Node) -> None:
    """Wait for HyperPod, which may still be setting it up."""
    host.wait(
        f"{slurm.SLURM_CONF}, which HyperPod's cluster agent writes",
        host.path(slurm.SLURM_CONF).exists,
        slurm.HYPERPOD_SECONDS,
    )
    host.wait(
        "HyperPod to set up Slurm's accounting",
        lambda: check_registered(host, node) is None,
        slurm.HYPERPOD_SECONDS,
        found=lambda: check_registered(host, node) or "",
        poll=1.0,
    )


STEP = Step("70-accounting", check, apply, frozenset({CONTROLLER}), frozenset({SCRIPTS}))
API_STEP = Step("70-accounting", check_registered, wait, frozenset({CONTROLLER}), frozenset({API}))
