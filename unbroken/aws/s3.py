"""Buckets."""

from __future__ import annotations

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

    def holds(self, bucket: str, prefix: str) -> bool:
        """Whether there is any object under the prefix."""
        found = self._session.ask(
            "s3", "list_objects_v2", f"s3://{bucket}/{prefix}", Bucket=bucket, Prefix=prefix, MaxKeys=1
        )
        return bool(found.get("KeyCount", 0))
