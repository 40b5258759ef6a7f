"""What steers the steps: node.json, from the cluster file, and deployed.json, from the stacks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from unbroken_node import documents
from unbroken_node.documents import Document

NODE_SCHEMA_VERSION = 1
DEPLOYED_SCHEMA_VERSION = 1
SCRIPTS, API = "scripts", "api"
_TRAINING_URI = re.compile(r"s3://[a-z0-9.-]+/training/[0-9a-f]+/")


@dataclass(frozen=True)
class Settings:
    """node.json: what the cluster file says, the same on every node."""

    cluster: str
    region: str
    mode: str
    controller_group: str
    login_groups: tuple[str, ...]
    worker_groups: tuple[str, ...]
    efa_groups: frozenset[str]
    task_plugin: str
    pam_slurm_adopt: bool
    mount_path: str
    lustre_version: str
    lustre_over_efa: bool
    home_mount_path: str | None
    user: str
    uid: int
    home: str
    work: str
    nvme_path: str
    training_root: str
    builds_environment: bool


@dataclass(frozen=True)
class Deployed:
    """deployed.json: what only the deployment knows, the same on every node."""

    fsx_dns_name: str
    fsx_mount_name: str
    home_dns_name: str | None
    lifecycle_bucket: str
    data_bucket: str | None
    training_uri: str

    @property
    def training_version(self) -> str:
        """The training code's content hash: the last part of its S3 prefix."""
        return self.training_uri.rstrip("/").rpartition("/")[2]


def read_settings(bundle: Path) -> Settings:
    """Read node.json beside this package; raises DocumentError."""
    document = documents.read(bundle / "node.json", "node.json")
    document.schema_version(NODE_SCHEMA_VERSION)
    cluster, slurm, user, storage = (
        document.object(name) for name in ("cluster", "slurm", "user", "storage")
    )
    mount_path, home_mount_path = storage.path("mount_path"), _home_mount_path(document)
    training = document.object("training")
    workers = list(slurm.objects("worker_groups"))
    return Settings(
        cluster=cluster.text("name"),
        region=cluster.text("region"),
        mode=_mode(slurm),
        controller_group=slurm.text("controller_group"),
        login_groups=slurm.texts("login_groups"),
        worker_groups=tuple(group.text("name") for group in workers),
        efa_groups=frozenset(group.text("name") for group in workers if group.flag("efa")),
        task_plugin=slurm.text("task_plugin"),
        pam_slurm_adopt=slurm.flag("pam_slurm_adopt"),
        mount_path=mount_path,
        lustre_version=storage.text("lustre_version"),
        lustre_over_efa=storage.flag("efa"),
        home_mount_path=home_mount_path,
        user=user.text("name"),
        uid=user.integer("uid"),
        home=_below(user, "home", home_mount_path or mount_path),
        work=_below(user, "work", mount_path),
        nvme_path=document.object("nvme").path("mount_path"),
        training_root=_below(training, "root", mount_path),
        builds_environment=training.flag("environment"),
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
        home_dns_name=document.optional_text("home_dns_name"),
        lifecycle_bucket=document.text("lifecycle_bucket"),
        data_bucket=document.optional_text("data_bucket"),
        training_uri=uri,
    )


def _mode(slurm: Document) -> str:
    mode = slurm.text("mode")
    if mode not in (SCRIPTS, API):
        raise slurm.error("mode", "scripts or api")
    return mode


def _home_mount_path(document: Document) -> str | None:
    home = document.optional_object("home")
    return home.path("mount_path") if home is not None else None


def _below(document: Document, name: str, mount_path: str) -> str:
    """Return a path that must lie on a file system of the cluster."""
    path = document.path(name)
    if not path.startswith(mount_path + "/"):
        raise document.error(name, f"a path below {mount_path}")
    return path
