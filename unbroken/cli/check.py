"""The verb `check`: the cluster file's problems, or a summary of what it describes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict

from unbroken import config
from unbroken.checks.result import counted
from unbroken.cli import output

_KEYS = {"aws": "AWS's keys", "create": "a key of its own"}


def check_file(explicit: str | None, as_json: bool) -> None:
    """Print the summary, as text or as JSON. ConfigError goes to the caller, with all problems."""
    path = config.find(explicit, os.environ)
    try:
        cluster = config.load(path)
    except config.ConfigError as error:
        if as_json:
            output.data(json.dumps(faults(str(path), error), indent=2))
        raise
    if as_json:
        output.data(json.dumps(summary(str(path), cluster), indent=2))
        return
    output.data(output.table(rows(cluster)))
    output.talk(f"\n{path}: ok")


def rows(cluster: config.ClusterConfig) -> list[tuple[str, str]]:
    """The summary as pairs of words; what is not asked for is left out."""
    training = cluster.training
    job = f"{training.preset}, {training.num_steps} steps, a checkpoint every {training.checkpoint_every}"
    return [
        ("cluster", f"{cluster.name} in {cluster.region} ({cluster.network.availability_zone_id})"),
        ("network", _network(cluster.network)),
        *((group.name, ", ".join(_group(group))) for group in cluster.groups()),
        ("storage", _storage(cluster.storage)),
        *_home(cluster.home),
        ("encryption", _KEYS.get(cluster.encryption.kms_key, cluster.encryption.kms_key)),
        ("Slurm", ", ".join(_slurm(cluster))),
        *_watched(cluster),
        ("job", job),
        ("outlive a destroy", ", ".join(kept(cluster)) or "nothing"),
    ]


def _network(network: config.NetworkConfig) -> str:
    if network.existing is not None:
        return f"{network.existing.vpc_id}, which is there"
    way_out = "no internet" if network.no_internet else "one NAT gateway"
    more = "".join(f", {subnet.name} in {subnet.availability_zone_id}" for subnet in network.subnets)
    return f"a new VPC, {network.vpc_cidr}, {way_out}{more}"


def _group(group: config.InstanceGroup) -> Iterator[str]:
    yield f"{group.num_instances} x {group.instance_type}"
    if isinstance(group, config.WorkerGroup):
        yield f"partition {group.partition}"
        yield from [f"at least {group.min_instances}"] if group.min_instances is not None else []
        yield from ["spot"] if group.capacity == "spot" else []
        if group.training_plan is not None:
            yield f"plan {group.training_plan.arn.rsplit('/', 1)[1]}"
    yield from [f"in {group.subnet}"] if group.subnet else []
    if group.scheduled_update is not None:
        yield f"updated at {group.scheduled_update.schedule}"
    yield from ["patched when idle"] if group.auto_patch is not None else []


def _storage(storage: config.StorageConfig) -> str:
    if storage.existing is not None:
        return f"{storage.existing.file_system_id}, which is there, at {storage.mount_path}"
    kind = f"{storage.deployment_type} {storage.storage_type}{' with EFA' if storage.efa else ''}"
    size = f"{storage.capacity_gib} GiB " if storage.capacity_gib else ""
    folders = len(storage.data_repositories)
    links = f", {counted(folders, 'folder')} linked to S3" if folders else ""
    return f"{size}Lustre ({kind}) at {storage.mount_path}{links}, {storage.deletion} on destroy"


def _home(home: config.HomeConfig | None) -> Iterator[tuple[str, str]]:
    if home is not None and home.existing is not None:
        yield "home", f"{home.existing.file_system_id}, which is there, at {home.mount_path}"
    elif home is not None:
        size = f"{home.capacity_gib} GiB OpenZFS ({home.deployment_type})"
        yield "home", f"{size} at {home.mount_path}, {home.deletion} on destroy"


def _slurm(cluster: config.ClusterConfig) -> Iterator[str]:
    yield f"{cluster.slurm.mode} mode"
    yield f"recovery {cluster.node_recovery}"
    yield "auto-resume" if cluster.slurm.auto_resume else "no auto-resume"
    yield from ["continuous provisioning"] if cluster.node_provisioning == "Continuous" else []
    if cluster.slurm.accounting_database is not None:
        yield f"accounting at {cluster.slurm.accounting_database.endpoint}"


def _watched(cluster: config.ClusterConfig) -> Iterator[tuple[str, str]]:
    seen = cluster.observability
    chosen = [("Prometheus", seen.prometheus), ("Grafana", seen.grafana)]
    used = [f"{name} {choice}" for name, choice in chosen if choice != "none"]
    if used:
        yield "metrics", ", ".join(used)
    if cluster.budget is not None:
        yield "budget", f"${cluster.budget.monthly_usd:,.0f} a month"


def kept(cluster: config.ClusterConfig) -> Iterator[str]:
    """What is made here and a destroy keeps."""
    storage, home, seen = cluster.storage, cluster.home, cluster.observability
    if storage.kept:
        yield "file system and data bucket" if storage.makes_bucket else "file system"
    if home is not None and home.kept:
        yield "home file system"
    if cluster.encryption.kms_key == "create" and cluster.encryption.deletion == "retain":
        yield "key"
    if cluster.logs.deletion == "retain":
        yield f"logs, {cluster.logs.retention_days} days"
    if "create" in (seen.prometheus, seen.grafana) and seen.deletion == "retain":
        yield "metrics"


def faults(path: str, error: config.ConfigError) -> dict[str, object]:
    """The shape of --json for a file that cannot be used, version 1."""
    problems = [asdict(problem) for problem in error.problems]
    return {"schema_version": 1, "file": path, "ok": False, "problems": problems}


def summary(path: str, cluster: config.ClusterConfig) -> dict[str, object]:
    """The shape of --json, version 1."""
    return {"schema_version": 1, "file": path, "ok": True, "cluster": cluster.model_dump(mode="json")}
