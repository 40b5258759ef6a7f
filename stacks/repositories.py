"""Folders of the shared file system that mirror buckets: FSx's data repository associations."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_fsx, aws_s3
from constructs import Construct

from unbroken.config import DataRepository

_Association = aws_fsx.CfnDataRepositoryAssociation


def repositories(
    scope: Construct,
    file_system: aws_fsx.CfnFileSystem,
    links: list[DataRepository],
    own_bucket: aws_s3.Bucket | None,
    removal: RemovalPolicy,
) -> None:
    """One association a folder. Its logical id comes from the folder, so the list's order does not matter."""
    folder = Construct(scope, "Data")
    for link in links:
        made = _association(folder, file_system, link, own_bucket)
        made.apply_removal_policy(removal)
        if own_bucket and link.bucket is None:
            # The link is checked against the bucket as it is made, so the bucket's policy comes first; it
            # goes before the bucket is emptied, or exports would fill that again.
            made.node.add_dependency(own_bucket)


def _association(
    scope: Construct,
    file_system: aws_fsx.CfnFileSystem,
    link: DataRepository,
    own_bucket: aws_s3.Bucket | None,
) -> _Association:
    return _Association(
        scope,
        link.path,
        file_system_id=file_system.ref,
        file_system_path=link.path,
        data_repository_path=_uri(link, own_bucket),
        batch_import_meta_data_on_create=True,
        s3=_events(link),
    )


def _uri(link: DataRepository, own_bucket: aws_s3.Bucket | None) -> str:
    name = link.bucket or (own_bucket.bucket_name if own_bucket else "")
    return f"s3://{name}/{link.prefix}" if link.prefix else f"s3://{name}"


def _events(link: DataRepository) -> _Association.S3Property | None:
    """Which changes reach the other side; a side without events has no policy."""
    if not link.import_events and not link.export_events:
        return None
    imports = _Association.AutoImportPolicyProperty(events=list(link.import_events))
    exports = _Association.AutoExportPolicyProperty(events=list(link.export_events))
    return _Association.S3Property(
        auto_import_policy=imports if link.import_events else None,
        auto_export_policy=exports if link.export_events else None,
    )
