"""The node bundle and the training code, put into the lifecycle bucket before the cluster is made.

Each goes to a prefix named by the hash of its content, so that nodes never see a mixture of two versions.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import RemovalPolicy, Stack, aws_iam, aws_kms, aws_logs, aws_s3, aws_s3_deployment
from constructs import Construct

from stacks.base import is_plain
from stacks.functions import log_statement
from stacks.permissions import Statement, allow, attach, role
from stacks.sources import Recorded
from stacks.storage import StorageStack
from unbroken import render
from unbroken.config import ClusterConfig


class Uploads(Construct):
    """Both uploads; ``lifecycle_uri`` and ``training_uri`` say where they are.

    A plain template has no function that could copy them: whoever deploys it puts the files there.
    """

    def __init__(
        self, scope: Construct, name: str, config: ClusterConfig, storage: StorageStack, key_arn: str | None
    ) -> None:
        super().__init__(scope, name)
        self._config, self._storage, self._key_arn = config, storage, key_arn
        with TemporaryDirectory() as folder:
            training = render.training_bundle(config, Path(folder, "training"))
            lifecycle = render.bundle(config, Path(folder, "lifecycle"))
            prefixes = f"training/{training.content_hash}/", f"lifecycle/{lifecycle.content_hash}/"
            self.training_uri, self.lifecycle_uri = (f"s3://{self._bucket_name}/{one}" for one in prefixes)
            if not is_plain(self):
                self._copy(training, lifecycle, prefixes)

    @property
    def _bucket_name(self) -> str:
        return self._storage.lifecycle_bucket_name

    def _copy(self, training: render.Bundle, lifecycle: render.Bundle, prefixes: tuple[str, str]) -> None:
        """CDK copies each rendered folder into its output as the upload is declared."""
        # By name, not by reference: CDK marks a bucket that it owns with a tag for each prefix, so that every
        # new bundle would change the storage stack.
        self._bucket = aws_s3.Bucket.from_bucket_name(self, "Bucket", self._bucket_name)
        self._logs = aws_logs.LogGroup(
            self,
            "Logs",
            retention=aws_logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
            encryption_key=aws_kms.Key.from_key_arn(self, "Key", self._key_arn) if self._key_arn else None,
        )
        copier = self._role(prefixes)
        code, bundle = _recorded(training), [_recorded(lifecycle), *self._written()]
        uploads = [
            self._upload("TrainingCode", prefixes[0], [code], copier),
            self._upload("Bundle", prefixes[1], bundle, copier),
        ]
        policy = attach(self, "Sources", copier.role_name, [self._read([code, *bundle])])
        for upload in uploads:
            upload.node.add_dependency(policy)

    def _written(self) -> list[Recorded]:
        """Files whose values only CloudFormation knows. In ``api`` mode HyperPod asks for none of its own."""
        systems = self._storage.file_systems
        deployed = render.deployed(
            self._config,
            fsx_dns_name=systems.fsx_dns_name,
            fsx_mount_name=systems.fsx_mount_name,
            home_dns_name=systems.home_dns_name,
            lifecycle_bucket=self._bucket_name,
            data_bucket=self._storage.data_bucket_name,
            training_uri=self.training_uri,
        )
        files = {"deployed.json": deployed}
        if self._config.slurm.mode == "scripts":
            files["provisioning_parameters.json"] = render.provisioning_parameters(
                self._config, systems.fsx_dns_name, systems.fsx_mount_name, systems.home_dns_name
            )
        return [Recorded(aws_s3_deployment.Source.data(name, text)) for name, text in files.items()]

    def _upload(
        self, name: str, prefix: str, sources: list[Recorded], copier: aws_iam.Role
    ) -> aws_s3_deployment.BucketDeployment:
        # Nothing is pruned or deleted: nodes of the old version read the old prefix until they are replaced.
        return aws_s3_deployment.BucketDeployment(
            self,
            name,
            sources=list(sources),
            destination_bucket=self._bucket,
            destination_key_prefix=prefix,
            prune=False,
            retain_on_delete=True,
            memory_limit=256,
            role=copier.without_policy_updates(),  # CDK's own grants cover both buckets whole
            log_group=self._logs,
        )

    def _role(self, prefixes: tuple[str, str]) -> aws_iam.Role:
        return role(
            self,
            "Role",
            service="lambda.amazonaws.com",
            description="Copies the bundle and the training code",
            policies={
                "logs": [log_statement(self._logs.log_group_arn)],
                "bucket": [*self._write(prefixes), *self._key()],
            },
        )

    def _write(self, prefixes: tuple[str, str]) -> list[Statement]:
        arn = f"arn:{Stack.of(self).partition}:s3:::{self._bucket_name}"
        return [
            allow(
                "Put",
                ["s3:PutObject", "s3:AbortMultipartUpload"],
                [f"{arn}/{prefix}*" for prefix in prefixes],
                purpose="The bundle and the training code are put under their own prefixes, named by hash.",
            ),
            allow(
                "Compare",
                ["s3:ListBucket"],
                [arn],
                {"StringEquals": {"s3:prefix": list(prefixes)}},
                purpose="The copy lists these two prefixes first, to leave out what is there already.",
            ),
        ]

    def _key(self) -> list[Statement]:
        if self._key_arn is None:
            return []
        return [
            allow(
                "Encrypt",
                ["kms:Decrypt", "kms:GenerateDataKey"],
                [self._key_arn],
                {"StringEquals": {"kms:ViaService": f"s3.{Stack.of(self).region}.amazonaws.com"}},
                purpose="S3 encrypts what is put with the cluster's key, in the name of who puts it.",
            )
        ]

    def _read(self, sources: list[Recorded]) -> Statement:
        return allow(
            "Read",
            ["s3:GetObject"],
            [f"arn:{Stack.of(self).partition}:s3:::{one.bucket_name}/{one.key}" for one in sources],
            purpose="The copy reads exactly the archives that this deployment put into CDK's bucket.",
        )


def _recorded(rendered: render.Bundle) -> Recorded:
    return Recorded(aws_s3_deployment.Source.asset(str(rendered.path), asset_hash=rendered.content_hash))
