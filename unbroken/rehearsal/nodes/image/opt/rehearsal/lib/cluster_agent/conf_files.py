"""Puts Slurm's configuration files in place and has slurmctld read them; ``slurm_conf`` makes their text."""

from __future__ import annotations

import time
from pathlib import Path

from cluster_agent import slurm_conf
from cluster_agent.cluster_config import Cluster
from slurm_commands import Runner

FOLDER = Path("/opt/slurm/etc")
UNIFIED = Path("/sys/fs/cgroup/cgroup.controllers")
HIERARCHIES = Path("/proc/self/cgroup")
SCONTROL = "/opt/slurm/bin/scontrol"
RESTART_TIMEOUT_SECONDS = 20.0


def write_all(cluster: Cluster, folder: Path = FOLDER) -> bool:
    """Write every file anew; true where the nodes differ from those of the slurm.conf found.

    accounting.conf is the customer's: one without settings is made where there is none, and never changed.
    """
    cgroups = cgroup_version()
    found = _read(folder / "slurm.conf")
    text = slurm_conf.slurm_conf(cluster, cgroups)
    if cluster.keep_partitions:
        text = slurm_conf.with_partitions_of(found, text)
    before = _node_lines(found)
    if not (folder / "accounting.conf").exists():
        _write(folder / "accounting.conf", slurm_conf.NO_ACCOUNTING)
    _write(folder / "cgroup.conf", slurm_conf.cgroup_conf(cgroups))
    _write(folder / "plugstack.conf", slurm_conf.plugstack_conf())
    _write_or_remove(folder / "gres.conf", slurm_conf.gres_conf(cluster))
    _write(folder / "slurm.conf", text)
    return before != _node_lines(text)


def cgroup_version(unified: Path = UNIFIED, hierarchies: Path = HIERARCHIES) -> str:
    """``v1``, ``v2``, or ``mixed`` where v2 is all one sees and the kernel has other hierarchies as well."""
    if not unified.exists():
        return "v1"
    return "v2" if len(hierarchies.read_text().splitlines()) == 1 else "mixed"


def apply(run: Runner, nodes_changed: bool) -> str:
    """Have a running slurmctld take the files up; Slurm reads a changed set of nodes only when it starts."""
    if not run(["systemctl", "is-active", "--quiet", "slurmctld"]).ok:
        return "slurmctld is not running yet"
    if nodes_changed:
        restarted = run(["systemctl", "restart", "slurmctld"], timeout=30)
        if not restarted.ok or not _comes_up(run):
            return f"slurmctld did not come back: {restarted.err}"
    done = run([SCONTROL, "reconfigure"], timeout=20)
    return done.err or ("restarted and reconfigured" if nodes_changed else "reconfigured")


def _comes_up(run: Runner) -> bool:
    deadline = time.monotonic() + RESTART_TIMEOUT_SECONDS
    while " is UP" not in run([SCONTROL, "ping"], timeout=5).out:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _node_lines(text: str) -> set[str]:
    return {line for line in text.splitlines() if line.startswith(("NodeName=", "GresTypes="))}


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    """In one step: slurmctld may read at any moment."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text)
    beside.replace(path)


def _write_or_remove(path: Path, text: str) -> None:
    if text:
        _write(path, text)
    else:
        path.unlink(missing_ok=True)
