"""The two files that a deployment writes beside the bundle, since only it knows their values.

Arguments are plain strings or CDK tokens (opaque strings that CloudFormation resolves), so nothing here
looks into them. Neither file is part of the bundle's content hash.
"""

from __future__ import annotations

import json

from unbroken.config import ClusterConfig

DEPLOYED_SCHEMA_VERSION = 1
PROVISIONING_VERSION = "1.0.0"


def provisioning_parameters(config: ClusterConfig, fsx_dns_name: str, fsx_mountname: str) -> str:
    """Return provisioning_parameters.json, by which HyperPod knows the role of each instance group.

    One key a line: scripts in the field read this file line by line.
    Source: AWS developer guide, "Base lifecycle scripts provided by HyperPod", the file of the same name.
    """
    document: dict[str, object] = {
        "version": PROVISIONING_VERSION,
        "workload_manager": "slurm",
        "controller_group": config.controller_group.name,
    }
    if config.login_groups:
        document["login_group"] = config.login_groups[0].name
    document["worker_groups"] = [
        {"instance_group_name": group.name, "partition_name": group.partition}
        for group in config.worker_groups
    ]
    document["fsx_dns_name"] = fsx_dns_name
    document["fsx_mountname"] = fsx_mountname
    return _text(document)


def deployed(
    config: ClusterConfig,
    *,
    fsx_dns_name: str,
    fsx_mount_name: str,
    lifecycle_bucket: str,
    data_bucket: str,
    training_uri: str,
) -> str:
    """Return deployed.json: where this deployment's file system, buckets and training code are.

    training_uri ends in a slash: it is an S3 prefix (s3://bucket/training/<hash>/).
    """
    return _text(
        {
            "schema_version": DEPLOYED_SCHEMA_VERSION,
            "fsx_dns_name": fsx_dns_name,
            "fsx_mount_name": fsx_mount_name,
            "lifecycle_bucket": lifecycle_bucket,
            "data_bucket": data_bucket,
            "training_uri": training_uri,
        }
    )


def _text(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2) + "\n"
