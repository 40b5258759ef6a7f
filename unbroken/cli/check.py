"""The verb `check`: the cluster file's problems, or a summary of what it describes."""

from __future__ import annotations

import json
import os

from unbroken import config
from unbroken.cli import output


def check_file(explicit: str | None, as_json: bool) -> None:
    """Print the summary, as text or as JSON. ConfigError goes to the caller, with all problems."""
    path = config.find(explicit, os.environ)
    cluster = config.load(path)
    if as_json:
        output.data(json.dumps(summary(str(path), cluster), indent=2))
        return
    output.data(output.table(rows(cluster)))
    output.talk(f"\n{path}: ok")


def rows(cluster: config.ClusterConfig) -> list[tuple[str, str]]:
    """The summary as pairs of words."""
    storage, training = cluster.storage, cluster.training
    groups = [(group.name, f"{group.num_instances} x {group.instance_type}") for group in cluster.groups()]
    return [
        ("cluster", f"{cluster.name} in {cluster.region} ({cluster.network.availability_zone_id})"),
        *groups,
        (
            "storage",
            f"{storage.capacity_gib} GiB Lustre at {storage.mount_path}, {storage.deletion} on destroy",
        ),
        ("recovery", cluster.node_recovery),
        (
            "job",
            f"{training.preset}, {training.num_steps} steps, a checkpoint every {training.checkpoint_every}",
        ),
    ]


def summary(path: str, cluster: config.ClusterConfig) -> dict[str, object]:
    """The shape of --json, version 1."""
    return {"schema_version": 1, "file": path, "ok": True, "cluster": cluster.model_dump(mode="json")}
