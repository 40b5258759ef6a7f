"""What ``unbroken export cloudformation`` writes beside the templates: a script that deploys them, a page.

The script needs bash and the AWS CLI only. Files whose values only a deployment knows carry placeholders,
``@@area.Output@@``, which it fills in from the stacks' outputs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.catalog.cloudformation import INLINE_BYTES, KEEPS
from unbroken.config import ClusterConfig
from unbroken.render.deployment import deployed, provisioning_parameters
from unbroken.render.templates_env import package_environment


@dataclass(frozen=True)
class Stack:
    """One template as it is written."""

    area: str
    name: str
    file: str
    text: str
    kept: tuple[str, ...]
    """Types of what stays when the stack is deleted."""

    @property
    def large(self) -> bool:
        """Whether the template must go through a bucket."""
        return len(self.text.encode()) > INLINE_BYTES


@dataclass(frozen=True)
class Parts:
    """What the script and the page are about."""

    config: ClusterConfig
    stacks: list[Stack]
    """In the order of their deployment."""
    lifecycle_hash: str
    training_hash: str


def stack(area: str, name: str, file: str, template: Mapping[str, Any]) -> Stack:
    """A stack from its template; one that is too large for a call is written without spaces first."""
    text = json.dumps(template, indent=2) + "\n"
    if len(text.encode()) > INLINE_BYTES:
        text = json.dumps(template, separators=(",", ":")) + "\n"
    resources = template["Resources"].values()
    kept = sorted({each["Type"] for each in resources if each.get("DeletionPolicy") in KEEPS})
    return Stack(area, name, file, text, tuple(kept))


def values(parts: Parts) -> dict[str, str]:
    """The files of the bundle with placeholders, by name."""
    dns, mount = "@@storage.FileSystemDnsName@@", "@@storage.FileSystemMountName@@"
    home = "@@storage.HomeDnsName@@" if parts.config.home else None
    bucket = "@@storage.LifecycleBucketName@@"
    files = {
        "deployed.json": deployed(
            parts.config,
            fsx_dns_name=dns,
            fsx_mount_name=mount,
            home_dns_name=home,
            lifecycle_bucket=bucket,
            data_bucket="@@storage.DataBucketName@@" if parts.config.storage.makes_bucket else None,
            training_uri=f"s3://{bucket}/training/{parts.training_hash}/",
        )
    }
    if parts.config.slurm.mode == "scripts":
        files["provisioning_parameters.json"] = provisioning_parameters(parts.config, dns, mount, home)
    return files


def deploy_script(parts: Parts) -> str:
    """deploy.sh."""
    return _page(
        "deploy.sh.j2",
        parts,
        tags=[shlex.quote(f"{key}={value}") for key, value in parts.config.own_tags.items()],
        files=list(values(parts)),
    )


def readme(parts: Parts) -> str:
    """README.md."""
    storage, home = parts.config.storage, parts.config.home
    return _page(
        "export.md.j2",
        parts,
        own_lifecycle_bucket=storage.lifecycle_bucket is None,
        emptied_data_bucket=storage.makes_bucket and storage.deletion == "delete",
        final_backup=home is not None and home.existing is None and home.deletion == "delete",
    )


def _page(template: str, parts: Parts, **more: object) -> str:
    text: str = (
        package_environment()
        .get_template(template)
        .render(
            config=parts.config,
            stacks=parts.stacks,
            lifecycle=f"lifecycle/{parts.lifecycle_hash}/",
            training=f"training/{parts.training_hash}/",
            **more,
        )
    )
    return text
