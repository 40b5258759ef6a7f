"""The two files that a deployment writes beside the bundle, since only it knows their values.

Arguments are plain strings or CDK tokens (opaque strings that CloudFormation resolves), so nothing here
looks into them. Neither file is part of the bundle's content hash.
"""

from __future__ import annotations

import json

from unbroken.config import ClusterConfig

DEPLOYED_SCHEMA_VERSION = 1
PROVISIONING_VERSION = "1.0.0"


def provisioning_parameters(
    config: ClusterConfig, fsx_dns_name: str, fsx_mountname: str, home_dns_name: str | None = None
) -> str:
    """Return provisioning_parameters.json, by which HyperPod knows the role of each group (``scripts`` mode).

    One key a line: scripts in the field read this file line by line.
    Source: AWS developer guide, "Base lifecycle scripts provided by HyperPod", the file of the same name.
    """
    document: dict[str, object] = {
        "version": PROVISIONING_VERSION,
        "workload_manager": "slurm",
        "controller_group": config.controller_group.name,
    }
    if config.login_groups:
        document["login_group"] = min(group.name for group in config.login_groups)
    document["worker_groups"] = [
        {"instance_group_name": group.name, "partition_name": group.partition}
        for group in sorted(config.worker_groups, key=lambda group: group.name)
    ]
    document["fsx_dns_name"] = fsx_dns_name
    document["fsx_mountname"] = fsx_mountname
    if home_dns_name is not None:
        document["fsx_openzfs_dns_name"] = home_dns_name
    return _text(document)


def deployed(
    config: ClusterConfig,
    *,
    fsx_dns_name: str,
    fsx_mount_name: str,
    lifecycle_bucket: str,
    data_bucket: str | None,
    training_uri: str,
    home_dns_name: str | None = None,
) -> str:
    """Return deployed.json: where this deployment's file systems, buckets, training code and services are.

    training_uri ends in a slash: it is an S3 prefix (s3://bucket/training/<hash>/). What a cluster does
    without is null: a data bucket of its own, a file system for home directories, a Prometheus workspace. One
    that is yet to be made is null too, since a cluster does not wait for it.
    """
    database = config.slurm.accounting_database
    return _text(
        {
            "schema_version": DEPLOYED_SCHEMA_VERSION,
            "fsx_dns_name": fsx_dns_name,
            "fsx_mount_name": fsx_mount_name,
            "home_dns_name": home_dns_name,
            "lifecycle_bucket": lifecycle_bucket,
            "data_bucket": data_bucket,
            "training_uri": training_uri,
            "prometheus_remote_write_url": _remote_write_url(config),
            "accounting_secret_arn": database.secret_arn if database else None,
        }
    )


def _remote_write_url(config: ClusterConfig) -> str | None:
    """Of a workspace that the cluster file names (Managed Prometheus user guide, "Set up ingestion")."""
    workspace = config.observability.prometheus
    if workspace in ("none", "create"):
        return None
    return f"https://aps-workspaces.{config.region}.amazonaws.com/workspaces/{workspace}/api/v1/remote_write"


def _text(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2) + "\n"
