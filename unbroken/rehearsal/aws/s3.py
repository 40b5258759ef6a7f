"""CloudFormation's AWS::S3::Bucket: keeps tags and encryption, and is deleted only when it is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ministack.services.s3 as s3
from botocore.exceptions import ClientError

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Amendment, Properties, ResourceError, tag_list

KEY_HEADER = "x-amz-server-side-encryption-aws-kms-key-id"
MANAGED_KEY = "alias/aws/s3"
"""What S3 uses where aws:kms is asked for without a key (S3 user guide, "Using SSE-KMS")."""


def install() -> None:
    """Let an upload ask for aws:kms without naming a key, as cdk does: the bucket's, else the managed one."""
    original = s3._resolve_sse_write_headers

    def resolve(headers: Mapping[str, str], bucket: str) -> Any:
        if headers.get("x-amz-server-side-encryption") == "aws:kms" and not headers.get(KEY_HEADER):
            key = s3._bucket_default_sse_headers(bucket).get(KEY_HEADER, MANAGED_KEY)
            headers = {**headers, KEY_HEADER: key}
        return original(headers, bucket)

    s3._resolve_sse_write_headers = resolve


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    """A rule of CloudFormation's as S3's API has it."""
    made: dict[str, Any] = {"ApplyServerSideEncryptionByDefault": rule["ServerSideEncryptionByDefault"]}
    if "BucketKeyEnabled" in rule:
        made["BucketKeyEnabled"] = str(rule["BucketKeyEnabled"]).lower() == "true"
    return made


def amendments(clients: Clients) -> list[Amendment]:
    """The bucket type."""

    def finish(bucket: str, properties: Properties) -> None:
        _tag(clients, bucket, properties)
        _encrypt(clients, bucket, properties)

    def delete(bucket: str, _properties: Properties) -> None:
        try:
            clients.s3.delete_bucket(Bucket=bucket)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise ResourceError(f"{error} (bucket {bucket})") from error

    return [Amendment("AWS::S3::Bucket", finish=finish, delete=delete)]


def _tag(clients: Clients, bucket: str, properties: Properties) -> None:
    tags = tag_list(properties)
    if tags:
        clients.s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})
    else:
        clients.s3.delete_bucket_tagging(Bucket=bucket)


def _encrypt(clients: Clients, bucket: str, properties: Properties) -> None:
    rules = properties.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", ())
    if rules:
        configuration = {"Rules": [_rule(rule) for rule in rules]}
        clients.s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration=configuration)
