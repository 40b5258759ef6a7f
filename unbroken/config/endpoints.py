"""What nodes of a network without a way out call of AWS, each through an interface endpoint of its own.

Source: AWS's own list for closed HyperPod networks (awslabs/awsome-distributed-ai, Terraform module
vpc_endpoints) without the parts that only EKS needs. It was tried on no live cluster.
"""

from __future__ import annotations

from unbroken.config.cluster import ClusterConfig

ALWAYS = ("ec2", "ec2messages", "logs", "monitoring", "ssm", "ssmmessages", "sts")
"""Interfaces and zone, Session Manager (three), logs, metrics, and who one is."""


def endpoint_services(config: ClusterConfig) -> list[str]:
    """The services, as the last parts of their endpoints' names. S3 has an endpoint without interfaces."""
    wanted = {
        "secretsmanager": config.slurm.accounting_database is not None,
        "fsx": config.slurm.mode == "api",
        "aps-workspaces": config.observability.prometheus != "none",
    }
    return [*ALWAYS, *(service for service, needed in wanted.items() if needed)]
