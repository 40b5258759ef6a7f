"""What all stacks share: name, region, tags and permissions boundary."""

from __future__ import annotations

from aws_cdk import CfnOutput, Environment, PermissionsBoundary, RemovalPolicy, Stack, Tags
from constructs import Construct

from unbroken.config import ClusterConfig

CLUSTER_TAG = "unbroken:cluster"
"""On everything that takes tags, so that tools touch only what belongs to one cluster."""


class ClusterStack(Stack):
    """One of a cluster's stacks, ``<cluster>-<area>``.

    The region is the cluster file's; the account is whichever the deployment runs in, so synth needs none.
    """

    def __init__(self, scope: Construct, area: str, config: ClusterConfig, description: str) -> None:
        tags = {**config.tags, CLUSTER_TAG: config.name}
        super().__init__(
            scope,
            f"{config.name}-{area}",
            env=Environment(region=config.region),
            description=f"{description} of HyperPod cluster {config.name}",
            permissions_boundary=_boundary(config),
            tags=tags,
        )
        for key, value in tags.items():
            Tags.of(self).add(key, value)

    def outputs(self, values: dict[str, str]) -> None:
        """Stack outputs under exactly these names."""
        for name, value in values.items():
            CfnOutput(self, name, value=value)


def data_removal(config: ClusterConfig) -> RemovalPolicy:
    """What happens to data, and to whatever holds it in place, when its stack goes."""
    return RemovalPolicy.RETAIN if config.storage.deletion == "retain" else RemovalPolicy.DESTROY


def _boundary(config: ClusterConfig) -> PermissionsBoundary | None:
    arn = config.identity.permissions_boundary
    return PermissionsBoundary.from_arn(arn) if arn else None
