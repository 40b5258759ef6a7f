"""What CDK's two custom resources do, replayed by functions of ours instead of by their Lambda functions.

Replayed, and named so in the report: Custom::CDKBucketDeployment (unpack assets into a bucket) and
Custom::S3AutoDeleteObjects (empty a bucket that is about to be deleted). Their Lambda functions and layers
are recorded by the embedded AWS but never run; their roles are held to what the handlers that aws-cdk-lib
2.275 ships would ask of S3.
"""

from __future__ import annotations

import io
import json
import mimetypes
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.function_role import FunctionRole
from unbroken.rehearsal.aws.handlers import Handler, Properties, Resource, ResourceError
from unbroken.rehearsal.aws.permissions import Permissions

REPLAYED = ("Custom::CDKBucketDeployment", "Custom::S3AutoDeleteObjects")
"""The custom resources that work; any other one is refused, since no Lambda function runs here."""

Files = dict[str, bytes]

AUTO_DELETE_TAG = "aws-cdk:auto-delete-objects"
OWNED_TAG = "aws-cdk:cr-owned"
METADATA = {
    "content-type": "ContentType",
    "cache-control": "CacheControl",
    "content-encoding": "ContentEncoding",
    "content-language": "ContentLanguage",
    "content-disposition": "ContentDisposition",
}


def handlers(clients: Clients, permissions: Permissions) -> list[Handler]:
    """Both custom resources."""
    return [BucketDeployment(clients, permissions), AutoDeleteObjects(clients, permissions)]


class BucketDeployment:
    """Custom::CDKBucketDeployment."""

    type_name = "Custom::CDKBucketDeployment"

    def __init__(self, clients: Clients, permissions: Permissions) -> None:
        self.clients = clients
        self.permissions = permissions

    def _role(self, properties: Properties) -> FunctionRole:
        return FunctionRole(self.clients, self.permissions, str(properties["ServiceToken"]))

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        self._deploy(properties)
        return self._resource(f"aws.cdk.s3deployment.{uuid.uuid4()}", properties)

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        if not truth(new, "RetainOnDelete", True) and destination(old) != destination(new):
            self._remove(self._role(new), *destination(old))
        self._deploy(new)
        return self._resource(physical_id, new)

    def delete(self, physical_id: str, properties: Properties) -> None:
        if not truth(properties, "RetainOnDelete", True) and not self._owned(properties):
            self._remove(self._role(properties), *destination(properties))

    @staticmethod
    def _resource(physical_id: str, properties: Properties) -> Resource:
        keys = properties["SourceObjectKeys"] if truth(properties, "OutputObjectKeys", True) else []
        arn = properties.get("DestinationBucketArn", "")
        return Resource(physical_id, {"DestinationBucketArn": arn, "SourceObjectKeys": keys})

    def _deploy(self, properties: Properties) -> None:
        files = selected(
            self._contents(properties), properties.get("Exclude", ()), properties.get("Include", ())
        )
        (bucket, prefix), role = destination(properties), self._role(properties)
        role.list(bucket, prefix)
        role.encrypt(bucket)
        try:
            for path, content in files.items():
                role.object_("s3:PutObject", bucket, prefix + path)
                self._put(bucket, prefix + path, content, properties)
            if truth(properties, "Prune", True):
                self._prune(bucket, prefix, files, properties)
        except ClientError as error:
            raise ResourceError(f"{error} (bucket {bucket})") from error

    def _contents(self, properties: Properties) -> Files:
        """The files of all sources; a later source replaces a file of an earlier one."""
        names, keys = properties["SourceBucketNames"], properties["SourceObjectKeys"]
        markers = properties.get("SourceMarkers") or [{} for _ in names]
        configs = properties.get("SourceMarkersConfig") or [{} for _ in names]
        if len(markers) != len(names):
            raise ResourceError("'source_markers' and 's3_source_zips' must be the same length")
        files, role = Files(), self._role(properties)
        for name, key, marks, config in zip(names, keys, markers, configs, strict=True):
            role.object_("s3:GetObject", name, key)
            source = self._get(name, key)
            if truth(properties, "Extract", True):
                files |= unpacked(source, marks, json_escape=truth(config, "jsonEscape", False))
            else:
                files[PurePosixPath(key).name] = source
        return files

    def _get(self, bucket: str, key: str) -> bytes:
        try:
            body: bytes = self.clients.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except ClientError as error:
            raise ResourceError(f"source s3://{bucket}/{key}: {error}") from error
        return body

    def _put(self, bucket: str, key: str, content: bytes, properties: Properties) -> None:
        guessed = mimetypes.guess_type(key)[0] or "binary/octet-stream"
        given = {METADATA[k.lower()]: v for k, v in properties.get("SystemMetadata", {}).items()}
        metadata = {k.lower(): v for k, v in properties.get("UserMetadata", {}).items()}
        details = {"ContentType": guessed, "Metadata": metadata, **given}
        self.clients.s3.put_object(Bucket=bucket, Key=key, Body=content, **details)

    def _prune(self, bucket: str, prefix: str, files: Files, properties: Properties) -> None:
        """Delete what the sources do not have, except what the filters leave out of the comparison."""
        present = {key.removeprefix(prefix): b"" for key in keys_below(self.clients, bucket, prefix)}
        compared = selected(present, properties.get("Exclude", ()), properties.get("Include", ()))
        keys = [prefix + path for path in compared if path not in files]
        _remove(self.clients, self._role(properties), bucket, keys)

    def _remove(self, role: FunctionRole, bucket: str, prefix: str) -> None:
        role.list(bucket, prefix)
        _remove(self.clients, role, bucket, keys_below(self.clients, bucket, prefix))

    def _owned(self, properties: Properties) -> bool:
        """Whether another deployment to the same place has marked the bucket as its own."""
        bucket, prefix = destination(properties)
        self._role(properties).bucket("s3:GetBucketTagging", bucket)
        tag = f"{OWNED_TAG}:{prefix.rstrip('/')}" if prefix else OWNED_TAG
        return any(key.startswith(tag) for key in bucket_tags(self.clients, bucket))


class AutoDeleteObjects:
    """Custom::S3AutoDeleteObjects; empties the bucket only where the bucket's tag asks for it."""

    type_name = "Custom::S3AutoDeleteObjects"

    def __init__(self, clients: Clients, permissions: Permissions) -> None:
        self.clients = clients
        self.permissions = permissions

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        return Resource(f"auto-delete-{properties['BucketName']}")

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        if old["BucketName"] != new["BucketName"]:
            self.delete(physical_id, old)
        return Resource(physical_id)

    def delete(self, physical_id: str, properties: Properties) -> None:
        bucket = str(properties["BucketName"])
        if bucket_tags(self.clients, bucket).get(AUTO_DELETE_TAG) != "true":
            return
        role = FunctionRole(self.clients, self.permissions, str(properties["ServiceToken"]))
        for action in ("s3:GetBucketTagging", "s3:ListBucketVersions"):
            role.bucket(action, bucket)
        for action in ("s3:DeleteObject", "s3:DeleteObjectVersion"):
            role.object_(action, bucket, "*")
        empty(self.clients, bucket)


def truth(properties: Mapping[str, Any], name: str, default: bool) -> bool:
    """A boolean property; CloudFormation hands it on as a string."""
    return str(properties.get(name, default)).lower() == "true"


def destination(properties: Properties) -> tuple[str, str]:
    """Bucket and prefix; the prefix is empty or ends with a slash."""
    prefix = str(properties.get("DestinationBucketKeyPrefix", "")).strip("/")
    return str(properties["DestinationBucketName"]), f"{prefix}/" if prefix else ""


def selected(files: Files, exclude: Sequence[str], include: Sequence[str]) -> Files:
    """The files the filters let through: a pattern matches the whole path, and the last match decides."""
    return {
        path: content for path, content in files.items()
        if not any(fnmatchcase(path, p) for p in exclude) or any(fnmatchcase(path, p) for p in include)
    }  # fmt: skip


def unpacked(archive: bytes, markers: Mapping[str, Any], *, json_escape: bool) -> Files:
    """The files of a zip archive, with the values only CloudFormation knows put in place of their markers."""
    tokens = {key.encode(): replacement(value, json_escape) for key, value in markers.items()}
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = [name for name in opened.namelist() if not name.endswith("/")]
        return {name: replaced(opened.read(name), tokens) for name in names}


def replacement(value: Any, json_escape: bool) -> bytes:
    """What stands for a marker; inside JSON a string is escaped, and anything else is written as JSON."""
    if not json_escape:
        return str(value).encode()
    text = json.dumps(value)
    return (text[1:-1] if isinstance(value, str) else text).encode()


def replaced(content: bytes, tokens: Mapping[bytes, bytes]) -> bytes:
    """The content with every marker replaced."""
    for token, value in tokens.items():
        content = content.replace(token, value)
    return content


def keys_below(clients: Clients, bucket: str, prefix: str) -> list[str]:
    """The keys of all objects below a prefix; none where the bucket is gone."""
    pages = clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    try:
        return [item["Key"] for page in pages for item in page.get("Contents", ())]
    except clients.s3.exceptions.NoSuchBucket:
        return []


def _remove(clients: Clients, role: FunctionRole, bucket: str, keys: Sequence[str]) -> None:
    """Delete the objects."""
    for key in keys:
        role.object_("s3:DeleteObject", bucket, key)
        clients.s3.delete_object(Bucket=bucket, Key=key)


def empty(clients: Clients, bucket: str) -> None:
    """Delete every version of every object."""
    pages = clients.s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
    for page in pages:
        for item in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
            clients.s3.delete_object(Bucket=bucket, Key=item["Key"], VersionId=item["VersionId"])


def bucket_tags(clients: Clients, bucket: str) -> dict[str, str]:
    """The bucket's tags; none where the bucket is gone."""
    try:
        answer = clients.s3.get_bucket_tagging(Bucket=bucket)
    except ClientError:
        return {}
    return {tag["Key"]: tag["Value"] for tag in answer["TagSet"]}
