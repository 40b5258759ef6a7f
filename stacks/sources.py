"""Sources of an upload that remember where CDK put them: reading them is granted object by object."""

from __future__ import annotations

import jsii
from aws_cdk import aws_iam, aws_s3_deployment
from constructs import Construct


@jsii.implements(aws_s3_deployment.ISource)
class Recorded:
    """A source; ``bucket_name`` and ``key`` are known once an upload has taken it."""

    bucket_name: str
    key: str

    def __init__(self, source: aws_s3_deployment.ISource) -> None:
        self._source = source

    def bind(self, scope: Construct, *, handler_role: aws_iam.IRole) -> aws_s3_deployment.SourceConfig:
        """Called by CDK."""
        config = self._source.bind(scope, handler_role=handler_role)
        self.bucket_name, self.key = config.bucket.bucket_name, config.zip_object_key
        return config
