"""What steers the steps: node.json, from the cluster file, and deployed.json, from the stacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from unbroken_node import documents
from unbroken_node.documents import Document

NODE_SCHEMA_VERSION = 1
DEPLOYED_SCHEMA_VERSION = 1
_TRAINING_URI = re.compile(r"s3://[a-z0-9.-]+/training/[0-9a-f]+/")


@dataclass(frozen=True)
class Settings:
    """node.json: what the cluster file says, the same on every node."""

    cluster: str
    region: str
    mode: str
    controller_group: str
    login_group: str | None
    worker_groups: tuple[str, ...]
    mount_path: str
    user: str
    uid: int
    home: str
    nvme_path: str
    training_root: str


@dataclass(frozen=True)
class Deployed:
    """deployed.json: what only the deployment knows, the same on every node."""

    fsx_dns_name: str
    fsx_mount_name: str
    lifecycle_bucket: str
    data_bucket: str
    training_uri: str


def read_settings(bundle: Path) -> Settings:
    """Read node.json beside this package; raises DocumentError."""
    document = documents.read(bundle / "node.json", "node.json")
    document.schema_version(NODE_SCHEMA_VERSION)
    cluster, slurm, user = (document.object(name) for name in ("cluster", "slurm", "user"))
    mount_path = document.object("storage").path("mount_path")
    return Settings(
        cluster=cluster.text("name"),
        region=cluster.text("region"),
        mode=_mode(slurm),
        controller_group=slurm.text("controller_group"),
        login_group=slurm.optional_text("login_group"),
        worker_groups=tuple(group.text("name") for group in slurm.objects("worker_groups")),
        mount_path=mount_path,
        user=user.text("name"),
        uid=user.integer("uid"),
        home=_below(user, "home", mount_path),
        nvme_path=document.object("nvme").path("mount_path"),
        training_root=_below(document.object("training"), "root", mount_path),
    )


def read_deployed(bundle: Path) -> Deployed:
    """Read deployed.json beside this package; raises DocumentError."""
    document = documents.read(bundle / "deployed.json", "deployed.json")
    document.schema_version(DEPLOYED_SCHEMA_VERSION)
    uri = document.text("training_uri")
    if not _TRAINING_URI.fullmatch(uri):
        raise document.error("training_uri", "s3://<bucket>/training/<hash>/")
    return Deployed(
        fsx_dns_name=document.text("fsx_dns_name"),
        fsx_mount_name=document.text("fsx_mount_name"),
        lifecycle_bucket=document.text("lifecycle_bucket"),
        data_bucket=document.text("data_bucket"),
        training_uri=uri,
    )


def _mode(slurm: Document) -> str:
    mode = slurm.text("mode")
    if mode not in ("scripts", "api"):
        raise slurm.error("mode", "scripts or api")
    return mode


def _below(document: Document, name: str, mount_path: str) -> str:
    """Return a path that must lie on the shared file system."""
    path = document.path(name)
    if not path.startswith(mount_path + "/"):
        raise document.error(name, f"a path below {mount_path}")
    return path
