"""CloudFormation's AWS::S3::Bucket: keeps the tags ministack drops, and is deleted only when it is empty."""

from __future__ import annotations

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Amendment, Properties, ResourceError, tag_list


def amendments(clients: Clients) -> list[Amendment]:
    """The bucket type."""

    def tag(bucket: str, properties: Properties) -> None:
        tags = tag_list(properties)
        if tags:
            clients.s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})
        else:
            clients.s3.delete_bucket_tagging(Bucket=bucket)

    def delete(bucket: str, _properties: Properties) -> None:
        try:
            clients.s3.delete_bucket(Bucket=bucket)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise ResourceError(f"{error} (bucket {bucket})") from error

    return [Amendment("AWS::S3::Bucket", finish=tag, delete=delete)]
