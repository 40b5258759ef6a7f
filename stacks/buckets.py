"""Private buckets, and emptying one when its stack goes."""

from __future__ import annotations

import hashlib

from aws_cdk import CfnResource, Duration, RemovalPolicy, Stack, aws_kms, aws_logs, aws_s3
from constructs import Construct

from stacks.base import is_plain
from stacks.functions import log_statement
from stacks.permissions import explain
from unbroken.config import ClusterConfig

_AUTO_DELETE = "Custom::S3AutoDeleteObjectsCustomResourceProvider"


def private_bucket(
    scope: Construct,
    name: str,
    *,
    removal: RemovalPolicy,
    versioned: bool,
    key_arn: str | None,
    bucket_name: str | None = None,
) -> aws_s3.Bucket:
    """Encrypted, without public access, over TLS only; emptied first if it is to be deleted.

    A plain template (``unbroken export cloudformation``) has no function that could empty it.
    """
    goes = removal is RemovalPolicy.DESTROY
    key = aws_kms.Key.from_key_arn(scope, f"{name}Key", key_arn) if key_arn else None
    bucket = aws_s3.Bucket(
        scope,
        name,
        bucket_name=bucket_name,
        encryption=aws_s3.BucketEncryption.KMS if key else aws_s3.BucketEncryption.S3_MANAGED,
        encryption_key=key,
        bucket_key_enabled=True if key else None,  # one call to KMS for many objects
        block_public_access=aws_s3.BlockPublicAccess.BLOCK_ALL,
        object_ownership=aws_s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        enforce_ssl=True,
        minimum_tls_version=1.2,
        versioned=versioned,
        lifecycle_rules=[_tidy(versioned)],
        removal_policy=removal,
        auto_delete_objects=goes and not is_plain(scope),
    )
    if bucket.policy and not goes:
        bucket.policy.apply_removal_policy(removal)  # a bucket that is kept stays closed to plain HTTP
    if goes and not is_plain(scope):
        _own_log_group(Stack.of(scope), key_arn)
    return bucket


def lifecycle_bucket_name(config: ClusterConfig, account: str) -> str:
    """The bucket that is brought along, else ``sagemaker-...``, at most 63 characters.

    HyperPod's own instance policy grants buckets of that prefix only (API reference, ClusterLifeCycleConfig).
    The hash keeps two clusters apart whose names differ in upper case or after the 16th character. Stacks
    other than storage use the name, since CloudFormation looks up a reference anew at each place it stands.
    """
    if config.storage.lifecycle_bucket:
        return config.storage.lifecycle_bucket
    digest = hashlib.sha256(config.name.encode()).hexdigest()[:6]
    short = config.name.lower()[:16].rstrip("-")
    return f"sagemaker-{short}-{digest}-{account}-{config.region}"


def _tidy(versioned: bool) -> aws_s3.LifecycleRule:
    """Half-finished uploads and replaced versions do not cost forever."""
    return aws_s3.LifecycleRule(
        abort_incomplete_multipart_upload_after=Duration.days(7),
        noncurrent_version_expiration=Duration.days(30) if versioned else None,
    )


def _own_log_group(stack: Stack, key_arn: str | None) -> None:
    """The function that empties buckets logs to a group of ours, and can make none of its own."""
    if stack.node.try_find_child("AutoDeleteLogs"):
        return
    group = aws_logs.CfnLogGroup(stack, "AutoDeleteLogs", retention_in_days=30, kms_key_id=key_arn)
    group.apply_removal_policy(RemovalPolicy.DESTROY)
    provider = stack.node.find_child(_AUTO_DELETE)
    handler, role = provider.node.find_child("Handler"), provider.node.find_child("Role")
    if not isinstance(handler, CfnResource) or not isinstance(role, CfnResource):
        raise TypeError("aws-cdk-lib no longer builds the bucket-emptying function as it did")
    handler.add_property_override("LoggingConfig.LogGroup", group.ref)
    role.add_property_deletion_override("ManagedPolicyArns")
    statement = log_statement(group.attr_arn)
    document = {"Version": "2012-10-17", "Statement": [statement.policy().to_statement_json()]}
    role.add_property_override("Policies", [{"PolicyName": "logs", "PolicyDocument": document}])
    explain(role, [statement])
