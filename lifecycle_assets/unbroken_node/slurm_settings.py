"""Settings of Slurm that are the cluster file's and not HyperPod's, kept in the files its agent writes anew.

HyperPod's cluster agent owns slurm.conf and writes it again whenever the cluster changes; edits are lost then
(observed). So a path unit of ours watches the files and puts the settings back. Options: slurm.conf(5),
cgroup.conf(5), and Slurm's page on pam_slurm_adopt, which needs a container for each job.
"""

from __future__ import annotations

import re
import sys

from unbroken_node import slurm, units
from unbroken_node.host import Host
from unbroken_node.settings import Settings

CGROUP_CONF = f"{slurm.ETC}/cgroup.conf"
NONE = "task/none"
PATH_UNIT = "unbroken-slurm-conf.path"
SERVICE = "unbroken-slurm-conf.service"
KEEP = "keep-slurm-conf"
"""The bundle's argument that puts the settings back."""
BUNDLE = "/opt/unbroken/current"
_MARK = "# Kept by the lifecycle bundle (unbroken-slurm-conf.path)"


def wanted(settings: Settings) -> dict[str, dict[str, str]]:
    """Return the settings by file; empty where HyperPod's own are right."""
    conf: dict[str, str] = {}
    if settings.task_plugin != NONE:
        conf["TaskPlugin"] = settings.task_plugin
    if settings.pam_slurm_adopt:
        conf |= {"PrologFlags": "Contain", "ProctrackType": "proctrack/cgroup"}
    files = {slurm.SLURM_CONF: conf} if conf else {}
    if "task/cgroup" in settings.task_plugin.split(","):
        # Jobs have whole nodes, so only memory needs a limit: the job that takes too much ends, not the node.
        files[CGROUP_CONF] = {"ConstrainRAMSpace": "yes"}
    return files


def problem(host: Host, settings: Settings) -> str | None:
    """Return what differs, or None."""
    for path, values in wanted(settings).items():
        text = host.read(path)
        if text is None:
            return f"{path} does not exist"
        for key, value in values.items():
            found = slurm.setting(text, key)
            if found != value:
                return f"{path} has {key}={found}, not {value}"
    return None


def put(host: Host, settings: Settings) -> bool:
    """Write what differs, and have a running slurmctld take it up; tell whether anything did."""
    if problem(host, settings) is None:
        return False
    for path, values in wanted(settings).items():
        host.write(path, edited(host.read(path) or "", values), owner=host.owner_names(path))
    if units.is_active(host, "slurmctld.service"):
        host.run("scontrol", "reconfigure")
    return True


def edited(text: str, values: dict[str, str]) -> str:
    """Return a file's text with each key set once, ours at the end."""
    for key in values:
        text = re.sub(rf"(?im)^\s*{re.escape(key)}\s*=.*\n?", "", text)
    lines = [_MARK, *(f"{key}={value}" for key, value in values.items())]
    kept = text.replace(_MARK + "\n", "").rstrip("\n")
    return kept + "\n" + "\n".join(lines) + "\n"


def path_unit() -> str:
    """Return the unit that watches the files."""
    watched = [("PathChanged", path) for path in (slurm.SLURM_CONF, CGROUP_CONF)]
    return units.render(
        Unit=[("Description", "Watch Slurm's configuration for changes by HyperPod")],
        Path=watched,
        Install=[("WantedBy", "multi-user.target")],
    )


def service() -> str:
    """Return the unit that puts the settings back."""
    return units.render(
        Unit=[("Description", "Keep the cluster file's settings in Slurm's configuration")],
        Service=[("Type", "oneshot"), ("ExecStart", f"{sys.executable} -I -S -B {BUNDLE} {KEEP}")],
    )
