"""What all stacks share: name, region, tags, protection and permissions boundary."""

from __future__ import annotations

from typing import Literal

from aws_cdk import (
    BootstraplessSynthesizer,
    CfnOutput,
    CfnResource,
    CfnWaitConditionHandle,
    Environment,
    PermissionsBoundary,
    RemovalPolicy,
    Stack,
    Tags,
)
from constructs import Construct

from unbroken.config import ClusterConfig


class ClusterStack(Stack):
    """One of a cluster's stacks, ``<cluster>-<area>``.

    The region is the cluster file's; the account is whichever the deployment runs in, so synth needs none.
    """

    def __init__(self, scope: Construct, area: str, config: ClusterConfig, description: str) -> None:
        super().__init__(
            scope,
            f"{config.name}-{area}",
            env=Environment(region=config.region),
            description=f"{description} of HyperPod cluster {config.name}",
            permissions_boundary=_boundary(config),
            tags=config.own_tags,
            termination_protection=config.termination_protection,
            synthesizer=BootstraplessSynthesizer() if is_plain(scope) else None,
        )
        for key, value in config.own_tags.items():
            Tags.of(self).add(key, value)

    def arn(self, service: str, resource: str) -> str:
        """ARN of a resource in this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def outputs(self, values: dict[str, str]) -> None:
        """Stack outputs under exactly these names."""
        for name, value in values.items():
            CfnOutput(self, name, value=value)
        self._never_empty()

    def _never_empty(self) -> None:
        """CloudFormation refuses a stack of outputs alone, and cdk skips it. This resource makes nothing."""
        if not any(isinstance(one, CfnResource) for one in self.node.find_all()):
            CfnWaitConditionHandle(self, "BroughtAlong")


def is_plain(scope: Construct) -> bool:
    """Whether the templates must do without CDK's bootstrap: no assets, no functions of CDK's own."""
    return scope.node.try_get_context("plain") in (True, "true")


def removal(choice: Literal["retain", "delete"]) -> RemovalPolicy:
    """What becomes of a resource when its stack goes.

    What is kept goes all the same if the very creation of its stack fails: it is empty, and would cost money.
    """
    return RemovalPolicy.DESTROY if choice == "delete" else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


def _boundary(config: ClusterConfig) -> PermissionsBoundary | None:
    arn = config.identity.permissions_boundary
    return PermissionsBoundary.from_arn(arn) if arn else None
