"""Slurm as its own programs and files show it."""

from __future__ import annotations

import re
from datetime import datetime

from unbroken_node.errors import NodeError
from unbroken_node.host import Host

ETC = "/opt/slurm/etc"
SLURM_CONF = f"{ETC}/slurm.conf"
SLURMCTLD_PORT = 6817
SLURMDBD_PORT = 6819
# How long HyperPod may take where it starts Slurm itself (`api` mode).
HYPERPOD_SECONDS = 600.0
# A client waits long for a daemon that is down; polls must not.
QUERY_SECONDS = 10.0


def setting(text: str, key: str) -> str | None:
    """Return the value of a key in the text of a Slurm configuration file (keys ignore case)."""
    match = re.search(rf"(?im)^\s*{re.escape(key)}\s*=\s*(\S+)", text)
    return match[1] if match else None


def cluster_name(host: Host) -> str:
    """Return the name that slurm.conf gives the cluster; it may differ from HyperPod's."""
    text = host.read(SLURM_CONF)
    name = setting(text, "ClusterName") if text is not None else None
    if name is None:
        found = "does not exist" if text is None else "has no ClusterName"
        raise NodeError(f"{SLURM_CONF} {found}; HyperPod's cluster agent writes it")
    return name


def controller_answers(host: Host) -> bool:
    """Tell whether slurmctld answers this node's commands."""
    return host.succeeds("scontrol", "ping", timeout=QUERY_SECONDS)


def node_fields(host: Host, name: str) -> dict[str, str]:
    """Return what slurmctld says of a node; empty where it does not know it, or does not answer."""
    return _shown(host, "node", name)


def reservation_fields(host: Host, name: str) -> dict[str, str]:
    """Return what slurmctld says of a reservation; empty where there is none, or it does not answer."""
    return _shown(host, "reservation", name)


def slurmd_start(fields: dict[str, str]) -> float | None:
    """Return when the slurmd that registered last was started, in seconds since the epoch, or None."""
    try:
        return datetime.fromisoformat(fields.get("SlurmdStartTime", "None")).timestamp()
    except ValueError:
        return None


def _shown(host: Host, kind: str, name: str) -> dict[str, str]:
    """Return the fields of `scontrol show`."""
    result = host.run("scontrol", "--oneliner", "show", kind, name, timeout=QUERY_SECONDS, accept=range(256))
    if result.code != 0:
        return {}
    return dict(field.split("=", 1) for field in result.stdout.split() if "=" in field)
