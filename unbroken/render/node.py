"""node.json: what the cluster file says that a node must know, one top-level object a feature.

It is part of the bundle's content hash, so it holds nothing that only a deployment knows (that is
deployed.json, see deployment.py). Its JSON Schema is node.schema.json beside this module; features are
added, never renamed.
"""

from __future__ import annotations

import json
from typing import Any

from unbroken.config import ClusterConfig

SCHEMA_VERSION = 1
# Where HyperPod's images mount local NVMe: developer guide, "Customize SageMaker HyperPod clusters using
# lifecycle scripts", which also says that the directory is absent on types without NVMe.
NVME_MOUNT_PATH = "/opt/dlami/nvme"


def node_document(config: ClusterConfig) -> dict[str, Any]:
    """Return node.json as a document, keys in the order in which people read it."""
    mount = config.storage.mount_path
    return {
        "schema_version": SCHEMA_VERSION,
        "cluster": {"name": config.name, "region": config.region},
        "slurm": _slurm(config),
        "storage": {"mount_path": mount},
        "user": {"name": config.user.name, "uid": config.user.uid, "home": f"{mount}/{config.user.name}"},
        "nvme": {"mount_path": NVME_MOUNT_PATH},
        "training": {"root": f"{mount}/unbroken"},
    }


def node_json(config: ClusterConfig) -> str:
    """Return node.json as text, ending in a newline."""
    return json.dumps(node_document(config), indent=2) + "\n"


def _slurm(config: ClusterConfig) -> dict[str, Any]:
    return {
        "mode": config.slurm.mode,
        "controller_group": config.controller_group.name,
        "login_group": config.login_groups[0].name if config.login_groups else None,
        "worker_groups": [{"name": g.name, "partition": g.partition} for g in config.worker_groups],
    }
