"""The node bundle and the training code, put into the lifecycle bucket before the cluster is made.

Each goes to a prefix named by the hash of its content, so that nodes never see a mixture of two versions.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import RemovalPolicy, Stack, aws_iam, aws_logs, aws_s3, aws_s3_deployment
from constructs import Construct

from stacks.buckets import lifecycle_bucket_name
from stacks.functions import log_statement
from stacks.storage import StorageStack
from unbroken import render
from unbroken.config import ClusterConfig


class Uploads(Construct):
    """Both uploads; ``lifecycle_uri`` and ``training_uri`` say where they are."""

    def __init__(self, scope: Construct, name: str, config: ClusterConfig, storage: StorageStack) -> None:
        super().__init__(scope, name)
        self._config, self._storage = config, storage
        # By name, not by reference: CDK marks a bucket that it owns with a tag for each prefix, so that every
        # new bundle would change the storage stack.
        name = lifecycle_bucket_name(config, Stack.of(self).account)
        self._bucket = aws_s3.Bucket.from_bucket_name(self, "Bucket", name)
        self._logs = aws_logs.LogGroup(
            self, "Logs", retention=aws_logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        self._role = self._function_role()
        with TemporaryDirectory() as folder:
            self._stage(Path(folder))

    def _stage(self, folder: Path) -> None:
        """CDK copies each rendered folder into its output as the upload is declared."""
        training = render.training_bundle(self._config, folder / "training")
        self.training_uri = self._uri(f"training/{training.content_hash}/")
        lifecycle = render.bundle(self._config, folder / "lifecycle")
        self.lifecycle_uri = self._uri(f"lifecycle/{lifecycle.content_hash}/")
        self._upload("TrainingCode", f"training/{training.content_hash}/", [_asset(training)])
        self._upload("Bundle", f"lifecycle/{lifecycle.content_hash}/", [_asset(lifecycle), *self._written()])

    def _written(self) -> list[aws_s3_deployment.ISource]:
        """Files whose values only CloudFormation knows."""
        file_system = self._storage.file_system
        dns, mount = file_system.attr_dns_name, file_system.attr_lustre_mount_name
        deployed = render.deployed(
            self._config,
            fsx_dns_name=dns,
            fsx_mount_name=mount,
            lifecycle_bucket=self._bucket.bucket_name,
            data_bucket=self._storage.data_bucket.bucket_name,
            training_uri=self.training_uri,
        )
        parameters = render.provisioning_parameters(self._config, dns, mount)
        return [
            aws_s3_deployment.Source.data("deployed.json", deployed),
            aws_s3_deployment.Source.data("provisioning_parameters.json", parameters),
        ]

    def _upload(self, name: str, prefix: str, sources: list[aws_s3_deployment.ISource]) -> None:
        # Nothing is pruned or deleted: nodes of the old version read the old prefix until they are replaced.
        aws_s3_deployment.BucketDeployment(
            self,
            name,
            sources=sources,
            destination_bucket=self._bucket,
            destination_key_prefix=prefix,
            prune=False,
            retain_on_delete=True,
            memory_limit=256,
            role=self._role,
            log_group=self._logs,
        )

    def _function_role(self) -> aws_iam.Role:
        logs = log_statement(self._logs.log_group_arn)
        return aws_iam.Role(
            self,
            "Role",
            description="Copies the bundle and the training code",
            assumed_by=aws_iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"logs": aws_iam.PolicyDocument(statements=[logs])},
        )

    def _uri(self, prefix: str) -> str:
        return f"s3://{self._bucket.bucket_name}/{prefix}"


def _asset(rendered: render.Bundle) -> aws_s3_deployment.ISource:
    return aws_s3_deployment.Source.asset(str(rendered.path), asset_hash=rendered.content_hash)
