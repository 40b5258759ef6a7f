"""A group's lifecycle bundle: where it is, what is in it, and the parameters it carries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.rehearsal.hyperpod.machines import AccessDenied, NodeStore, NotFound

PARAMETERS_FILE = "provisioning_parameters.json"


@dataclass(frozen=True)
class LifecycleSource:
    """A group's LifeCycleConfig and the role that reads it."""

    s3_uri: str
    hook: str
    """``OnCreate``: the script makes the node. ``OnInitComplete``: it runs on a configured node."""
    script: str
    role_name: str

    @property
    def folder(self) -> str:
        """Where a node unpacks it: ``/tmp/<bucket>/<prefix>``."""
        bucket, prefix = split_uri(self.s3_uri)
        return f"/tmp/{bucket}/{prefix}".rstrip("/")  # noqa: S108 (the service's own choice)


HOOKS = ("OnCreate", "OnInitComplete")


def source_of(spec: Mapping[str, Any]) -> LifecycleSource | None:
    """The source a ClusterInstanceGroupSpecification names; None in Bootstrap mode, without a script."""
    config = spec.get("LifeCycleConfig", {})
    hook = next((hook for hook in HOOKS if hook in config), None)
    if hook is None:
        return None
    return LifecycleSource(config["SourceS3Uri"], hook, config[hook], role_name(spec["ExecutionRole"]))


def role_name(arn: str) -> str:
    """The name at the end of a role's ARN; a path before it is dropped."""
    return arn.rsplit("/", 1)[-1]


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and prefix of an S3 URI, the prefix without slashes around it; ValueError for anything else."""
    match = re.fullmatch(r"s3://([^/]+)/?(.*)", uri)
    if match is None:
        raise ValueError(f"{uri} is not an s3:// URI")
    return match[1], match[2].strip("/")


def parameters(store: NodeStore, source: LifecycleSource) -> dict[str, Any] | None:
    """The bundle's provisioning parameters; None where they cannot be read, which the boot will then tell."""
    try:
        raw = store.fetch(source.s3_uri, source.role_name).get(PARAMETERS_FILE)
    except (AccessDenied, NotFound):
        return None
    return parse_parameters(raw) if raw is not None else None


def parse_parameters(raw: bytes) -> dict[str, Any] | None:
    """The parameters as an object; None for anything that is not one."""
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
