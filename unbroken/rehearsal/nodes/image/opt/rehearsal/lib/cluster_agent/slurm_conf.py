"""The text of Slurm's configuration files, from a picture of the cluster; ``conf_files`` writes them.

Lines a customer meets are those seen on real clusters (partitions, NodeName, TaskPlugin, the include). The
block of shortened waits is the rehearsal's own.
"""

from __future__ import annotations

import re

from cluster_agent.cluster_config import Cluster, Node

INCLUDE = "include accounting.conf"
_PARTITION = re.compile(r"(?m)^PartitionName=(\S+)")
PLUGIN = "/opt/slurm/lib/auto_resume.so"
EVERYTHING = "dev"
NO_ACCOUNTING = "# no accounting is set up\n"
"""Not quite empty: Slurm's commands complain about an empty file."""

HEAD = """\
# Written by sagemaker-cluster-agent anew whenever the cluster changes: edits by hand are lost.
ClusterName={cluster}
SlurmctldHost={controller}
SlurmUser=slurm
SlurmctldPort=6817
SlurmdPort=6818
AuthType=auth/munge
SwitchType=switch/none
MpiDefault=none
ReturnToService=1
JobRequeue=1
# Slurmctld settings
SlurmctldParameters=enable_configless
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmctldPidFile=/run/slurmctld.pid
StateSaveLocation=/var/spool/slurmctld
# Slurmd settings
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmdPidFile=/run/slurmd.pid
SlurmdSpoolDir=/var/spool/slurmd
SlurmdParameters=config_overrides
ProctrackType={proctrack}
# Only task/none is supported for auto-resume
TaskPlugin=task/none
# Scheduling
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=permit_job_expansion,sched_interval=2,bf_interval=5,batch_sched_delay=1
TreeWidth=65533
# Shortened waits of the rehearsal
SlurmdTimeout=60
KillWait=2
UnkillableStepTimeout=10
MessageTimeout=5
TCPTimeout=2
BatchStartTimeout=5
"""


def slurm_conf(cluster: Cluster, cgroups: str = "v1") -> str:
    """slurm.conf as a whole; ValueError where the files name no controller instance.

    ``cgroups`` is ``v1``, ``v2``, or ``mixed`` (see ``cgroup_conf``).
    """
    controller = cluster.controller()
    if controller is None:
        raise ValueError(f"no instance of the controller group {cluster.controller_group} is listed")
    proctrack = "proctrack/linuxproc" if cgroups == "mixed" else "proctrack/cgroup"
    address = f"{controller.name}({controller.address})"
    head = HEAD.format(cluster=cluster.name.lower(), controller=address, proctrack=proctrack)
    nodes = [_node_line(cluster, node) for node in cluster.slurm_nodes()]
    body = ["# Nodes and partitions", *_gres_types(cluster), *nodes, *_partitions(cluster)]
    return head + "\n".join([*body, INCLUDE]) + "\n"


def with_partitions_of(found: str, text: str) -> str:
    """The text, with the partitions that only the file found has in front of its include."""
    known = set(_PARTITION.findall(text))
    more = [line for line in found.splitlines() for name in _PARTITION.findall(line) if name not in known]
    return text.replace(INCLUDE, "\n".join([*more, INCLUDE])) if more else text


def _node_line(cluster: Cluster, node: Node) -> str:
    shape = cluster.shape(node)
    gres = f" Gres=gpu:{shape.gpus}" if cluster.gres and shape.gpus else ""
    return (
        f"NodeName={node.name} NodeHostname={node.name} NodeAddr={node.address} "
        f"CPUs={shape.cpus} RealMemory={shape.memory_mib}{gres} State=CLOUD"
    )


def cgroup_conf(cgroups: str) -> str:
    """cgroup.conf, by what the machine has.

    Slurm 22.05's plugin for v2 works without controllers (it logs that they are not enabled), and refuses to
    start where the kernel has v1 hierarchies too. A machine that sees v2 on such a kernel is ``mixed``: Slurm
    tracks processes without cgroups there.
    """
    if cgroups == "v2":
        return "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"
    return "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def plugstack_conf() -> str:
    """plugstack.conf; optional, since a missing required plugin breaks every srun and sbatch."""
    return f"optional {PLUGIN}\n"


def gres_conf(cluster: Cluster) -> str:
    """gres.conf: the GPUs' device files, node by node; empty without GRES."""
    lines = [
        f"NodeName={node.name} Name=gpu File={_devices(cluster.shape(node).gpus)}"
        for node in cluster.slurm_nodes()
        if cluster.gres and cluster.shape(node).gpus
    ]
    return "".join(line + "\n" for line in lines)


def _devices(count: int) -> str:
    return "/dev/nvidia0" if count == 1 else f"/dev/nvidia[0-{count - 1}]"


def _gres_types(cluster: Cluster) -> list[str]:
    return ["GresTypes=gpu"] if gres_conf(cluster) else []


def _partitions(cluster: Cluster) -> list[str]:
    """``dev`` with every node first, then one for each partition name that has nodes."""
    members: dict[str, list[str]] = {}
    for node in cluster.slurm_nodes():
        if node.group in cluster.partitions:
            members.setdefault(cluster.partitions[node.group], []).append(node.name)
    members.pop(EVERYTHING, None)
    lines = [_partition(EVERYTHING, "ALL", default="YES")] if cluster.slurm_nodes() else []
    return lines + [_partition(name, ",".join(nodes), default="NO") for name, nodes in members.items()]


def _partition(name: str, nodes: str, *, default: str) -> str:
    rest = "MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE"
    return f"PartitionName={name} Nodes={nodes} Default={default} {rest}"
