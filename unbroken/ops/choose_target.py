"""Which AWS `--target` names."""

from __future__ import annotations

import os
from pathlib import Path

from unbroken import config
from unbroken.config import ClusterConfig
from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse import kept
from unbroken.ops.target import AWS, REHEARSAL, Target, on_aws

NAMES = (AWS, REHEARSAL)


def chosen(
    name: str, explicit: str | None, identity: str | None = None
) -> tuple[Path, ClusterConfig, Target]:
    """The cluster file, what is in it, and the target; a rehearsal's own file unless one is named.

    ConfigError for a wrong file, CannotRun where there is no such target.
    """
    if name not in NAMES:
        raise CannotRun(f"'{name}' is no target", f"the targets are: {', '.join(NAMES)}")
    if name == AWS:
        path = config.find(explicit, os.environ)
        cluster = config.load(path)
        return path, cluster, on_aws(cluster.region)
    return _rehearsed(kept.find(identity), explicit)


def _rehearsed(found: kept.Kept, explicit: str | None) -> tuple[Path, ClusterConfig, Target]:
    path = Path(explicit) if explicit else found.cluster_file
    cluster = config.load(path)
    if (cluster.name, cluster.region) != (found.cluster_name, found.region):
        raise CannotRun(
            f"{path} is of {cluster.name} in {cluster.region}, and the rehearsal {found.id} is of "
            f"{found.cluster_name} in {found.region}",
            "name the rehearsal's own file, or rehearse this one: unbroken rehearse --keep",
        )
    return path, cluster, found.target
