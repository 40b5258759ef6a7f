"""The calls of a custom resource's Lambda function, held to the function's role and the bucket's policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.rehearsal.aws import execution_role
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import ResourceError
from unbroken.rehearsal.aws.permissions import Permissions, Principal

NOTHING: Mapping[str, Any] = {}


class FunctionRole:
    """One function; every method raises ResourceError, which names action and resource."""

    def __init__(self, clients: Clients, permissions: Permissions, function_arn: str) -> None:
        self.clients = clients
        self.permissions = permissions
        found = clients.of("lambda").get_function_configuration(FunctionName=function_arn)
        self.principal = Principal(found["Role"].rpartition("/")[2], found["FunctionName"])

    def allow(self, action: str, resource: str, context: Mapping[str, Any] = NOTHING) -> None:
        """The function may do this."""
        denial = self.permissions.check(self.principal, action, resource, context)
        if denial is not None:
            raise ResourceError(denial.message)

    def object_(self, action: str, bucket: str, key: str) -> None:
        """Something with one object."""
        self.allow(action, f"arn:aws:s3:::{bucket}/{key}")

    def list(self, bucket: str, prefix: str) -> None:
        """List what is below a prefix."""
        self.allow("s3:ListBucket", f"arn:aws:s3:::{bucket}", {"s3:prefix": prefix})

    def bucket(self, action: str, bucket: str) -> None:
        """Something with a bucket."""
        self.allow(action, f"arn:aws:s3:::{bucket}")

    def encrypt(self, bucket: str) -> None:
        """Write to a bucket that encrypts with a key of one's own."""
        key = execution_role.bucket_key(self.clients, bucket)
        if key:
            context = execution_role.through_s3(self.clients.region, bucket)
            self.allow("kms:GenerateDataKey", key, context)
