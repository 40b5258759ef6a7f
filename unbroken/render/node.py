"""node.json: what the cluster file says that a node must know, one top-level object a feature.

It is part of the bundle's content hash, so it holds nothing that only a deployment knows (that is
deployed.json, see deployment.py). Its JSON Schema is node.schema.json beside this module; features are
added, never renamed.
"""

from __future__ import annotations

import json
from typing import Any

from unbroken.catalog import instance_types
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
        "storage": {
            "mount_path": mount,
            "lustre_version": config.storage.lustre_version,
            "efa": config.storage.efa,
        },
        "home": {"mount_path": config.home.mount_path} if config.home else None,
        "user": _user(config),
        "nvme": {"mount_path": NVME_MOUNT_PATH},
        "training": {"root": f"{mount}/unbroken", "environment": _builds_environment(config)},
    }


def node_json(config: ClusterConfig) -> str:
    """Return node.json as text, ending in a newline."""
    return json.dumps(node_document(config), indent=2) + "\n"


def _builds_environment(config: ClusterConfig) -> bool:
    """Whether the job's interpreter is the one that the controller builds."""
    training = config.training
    ours = f"{config.storage.mount_path}/unbroken/env/bin/python3"
    return training.python == ours and training.container_image is None


def _user(config: ClusterConfig) -> dict[str, Any]:
    """The account: its home, and a folder of its own on the Lustre file system, which may be the same."""
    work = f"{config.storage.mount_path}/{config.user.name}"
    home = f"{config.home.mount_path}/{config.user.name}" if config.home else work
    return {"name": config.user.name, "uid": config.user.uid, "home": home, "work": work}


def _slurm(config: ClusterConfig) -> dict[str, Any]:
    """Groups by name, so that moving one in the cluster file changes no bundle.

    `login_group` is the one that provisioning_parameters.json has room for, `login_groups` are all.
    """
    logins = sorted(group.name for group in config.login_groups)
    return {
        "mode": config.slurm.mode,
        "controller_group": config.controller_group.name,
        "login_group": logins[0] if logins else None,
        "login_groups": logins,
        "worker_groups": [
            {"name": group.name, "partition": group.partition, "efa": _has_efa(group.instance_type)}
            for group in sorted(config.worker_groups, key=lambda group: group.name)
        ],
        "task_plugin": config.slurm.task_plugin,
        "pam_slurm_adopt": config.slurm.pam_slurm_adopt,
    }


def _has_efa(instance_type: str) -> bool:
    return bool(instance_types.get(instance_type).efa_interfaces)
