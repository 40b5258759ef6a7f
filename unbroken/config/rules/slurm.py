"""What goes together in Slurm, and what HyperPod's two ways to learn of it allow."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unbroken.config.rules.needs import Rule, reads
from unbroken.config.section import Fault
from unbroken.config.sections import Sections

EVERY_NODES_PARTITION = "dev"
"""HyperPod's default partition; it holds every node, whatever the cluster file says (observed)."""


@reads("slurm", "login_groups")
def _one_login_group(cluster: Sections) -> Iterator[Fault]:
    if cluster.slurm.mode == "scripts" and len(cluster.login_groups) > 1:
        rule = "login groups: provisioning_parameters.json, which scripts mode uses, names one"
        hint = "use slurm.mode: api, or one group with more nodes"
        yield Fault(("login_groups",), len(cluster.login_groups), rule, hint)


@reads("slurm", "worker_groups")
def _partition_names(cluster: Sections) -> Iterator[Fault]:
    """Source of the API's pattern: SageMaker API reference, ClusterSlurmConfig."""
    for index, group in enumerate(cluster.worker_groups):
        if cluster.slurm.mode == "api" and not re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*", group.partition):
            rule = "is not a partition name that HyperPod's API accepts: letters, digits and hyphens between"
            where = ("worker_groups", index, "partition")
            yield Fault(
                where, group.partition, rule, f"use {re.sub('[._-]+', '-', group.partition).strip('-')}"
            )


@reads("worker_groups")
def _mixed_partition(cluster: Sections) -> Iterator[Fault]:
    """The job runs on the first worker group, so its partition must not hold nodes of another type."""
    first = cluster.worker_groups[0]
    others = [group for group in cluster.worker_groups[1:] if group.instance_type != first.instance_type]
    if others and first.partition == EVERY_NODES_PARTITION:
        rule = "holds every node of the cluster, so the job could get nodes of another type"
    elif any(group.partition == first.partition for group in others):
        rule = "holds nodes of another type too, so the job could get them"
    else:
        return
    hint = "give the first group a partition of its own, such as train"
    yield Fault(("worker_groups", 0, "partition"), first.partition, rule, hint)


@reads("slurm", "node_provisioning")
def _accounting(cluster: Sections) -> Iterator[Fault]:
    database, where = cluster.slurm.accounting_database, ("slurm", "accounting_database")
    if database is None:
        return
    if cluster.slurm.mode != "api":
        rule = "is part of HyperPod's own Slurm configuration, which scripts mode does not use"
        yield Fault(where, database.endpoint, rule, "use slurm.mode: api, or leave it out")
    if cluster.node_provisioning != "Continuous":
        rule = "is for continuous provisioning only"
        yield Fault(where, database.endpoint, rule, "add node_provisioning: Continuous, or leave it out")


RULES: tuple[Rule, ...] = (_one_login_group, _partition_names, _mixed_partition, _accounting)
