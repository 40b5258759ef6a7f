"""Buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unbroken.aws.session import AwsError, Session


@dataclass(frozen=True)
class Bucket:
    """A bucket that this account may read."""

    name: str
    region: str
    """Empty where S3 does not say."""


class S3:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def bucket(self, name: str) -> Bucket | None:
        """A bucket; None where nobody has one of that name.

        AwsError with ``denied`` where somebody has, and these credentials may not read it.
        """
        try:
            found = self._session.ask("s3", "head_bucket", f"bucket {name}", Bucket=name)
        except AwsError as error:
            if error.code in ("404", "NoSuchBucket"):
                return None
            raise
        return Bucket(name, found.get("BucketRegion", ""))

    def own_buckets(self) -> list[str]:
        """Names of all buckets of this account, in every region."""
        return [
            one["Name"] for one in self._session.ask("s3", "list_buckets", "own buckets").get("Buckets", ())
        ]

    def holds(self, bucket: str, prefix: str) -> bool:
        """Whether there is any object under the prefix."""
        found = self._session.ask(
            "s3", "list_objects_v2", f"s3://{bucket}/{prefix}", Bucket=bucket, Prefix=prefix, MaxKeys=1
        )
        return bool(found.get("KeyCount", 0))

    def tags(self, bucket: str) -> Mapping[str, str]:
        """A bucket's tags."""
        try:
            found = self._session.ask("s3", "get_bucket_tagging", f"bucket {bucket}", Bucket=bucket)
        except AwsError as error:
            if error.is_("NoSuchTagSet"):
                return {}
            raise
        return {tag["Key"]: tag["Value"] for tag in found["TagSet"]}

    def empty(self, bucket: str) -> int:
        """Delete every version of every object; how many."""
        about, deleted = f"bucket {bucket}", 0
        while True:
            page = self._session.ask("s3", "list_object_versions", about, Bucket=bucket)
            found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
            if not found:
                return deleted
            objects = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in found]
            answer = self._session.ask(
                "s3", "delete_objects", about, Bucket=bucket, Delete={"Objects": objects, "Quiet": True}
            )
            _raise_kept(bucket, answer.get("Errors", ()))
            deleted += len(objects)


def _raise_kept(bucket: str, errors: Sequence[Mapping[str, str]]) -> None:
    for error in errors:
        said, code = error.get("Message", "no message"), error.get("Code", "?")
        hint = "look at the bucket's policy and at object locks"
        raise AwsError(
            f"DeleteObjects of bucket {bucket}: {error.get('Key')}: {said} ({code})", hint, code, said
        )
