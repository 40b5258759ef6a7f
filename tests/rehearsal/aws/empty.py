"""An account with nothing in it, whatever earlier tests left there."""

from __future__ import annotations

from unbroken.rehearsal.aws.permissions import install_managed_policies
from unbroken.rehearsal.composition import Rehearsal

DELETE_SECONDS = 20.0


def empty(rehearsal: Rehearsal) -> None:
    """Forget everything that the embedded AWS holds; the server itself stays as it is."""
    import ministack.services.cloudformation as cloudformation
    from ministack.services import (
        budgets,
        cloudwatch,
        cloudwatch_logs,
        ec2,
        iam,
        kms,
        lambda_svc,
        s3,
        secretsmanager,
        ssm,
    )

    for cluster in rehearsal.aws.clients.of("sagemaker").list_clusters()["ClusterSummaries"]:
        rehearsal.service.delete_cluster({"ClusterName": cluster["ClusterName"]})
        rehearsal.service.wait(cluster["ClusterArn"], DELETE_SECONDS)
    for service in (
        budgets, cloudformation, cloudwatch, cloudwatch_logs, ec2, iam, kms, s3, secretsmanager, ssm,
    ):  # fmt: skip
        service.reset()
    lambda_svc._functions.clear()
    install_managed_policies()
    aws = rehearsal.aws
    aws.failures.clear()
    for held in (aws.fsx.file_systems, aws.fsx.associations, aws.fsx.backups):
        held.clear()
    for of in aws.workspaces.values():
        of.made.clear()
