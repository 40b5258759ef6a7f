"""CloudFormation's AWS::Logs::LogGroup, made through the Logs API.

ministack's own takes over a group of the same name; here it is refused, and a name CloudFormation chooses is
another each time, as on AWS: a kept group and a new one can be there side by side.
"""

from __future__ import annotations

import uuid
from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws import environment, keys
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Handler, Properties, Resource, ResourceError, tag_list
from unbroken.rehearsal.aws.permissions import Permissions

USED = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncryptFrom", "kms:GenerateDataKey", "kms:DescribeKey")
"""What CloudWatch Logs does with a key (Logs user guide, "Encrypt log data using AWS KMS")."""


def handlers(clients: Clients, permissions: Permissions) -> list[Handler]:
    """The type."""
    return [LogGroup(clients, permissions)]


class LogGroup:
    """A log group; ``Ref`` is its name."""

    type_name = "AWS::Logs::LogGroup"

    def __init__(self, clients: Clients, permissions: Permissions) -> None:
        self.clients = clients
        self.permissions = permissions

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        name = str(properties.get("LogGroupName") or f"{stack_name}-{logical_id}-{uuid.uuid4().hex[:12]}")
        self._check_key(properties.get("KmsKeyId"), name)
        key = {"kmsKeyId": properties["KmsKeyId"]} if "KmsKeyId" in properties else {}
        try:
            self.clients.logs.create_log_group(logGroupName=name, tags=_tags(properties), **key)
        except ClientError as error:
            raise ResourceError(f"{error} (log group {name})") from error
        self._retain(name, properties)
        return self._resource(name)

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        key = new.get("KmsKeyId")
        if key != old.get("KmsKeyId"):
            self._check_key(key, physical_id)
            if key:
                self.clients.logs.associate_kms_key(logGroupName=physical_id, kmsKeyId=key)
            else:
                self.clients.logs.disassociate_kms_key(logGroupName=physical_id)
        self._retain(physical_id, new)
        self._retag(physical_id, _tags(old), _tags(new))
        return self._resource(physical_id)

    def delete(self, physical_id: str, properties: Properties) -> None:
        try:
            self.clients.logs.delete_log_group(logGroupName=physical_id)
        except self.clients.logs.exceptions.ResourceNotFoundException:
            return

    def _retain(self, name: str, properties: Properties) -> None:
        days = properties.get("RetentionInDays")
        if days is not None:
            self.clients.logs.put_retention_policy(logGroupName=name, retentionInDays=int(days))
        else:
            self.clients.logs.delete_retention_policy(logGroupName=name)

    def _retag(self, name: str, before: dict[str, str], after: dict[str, str]) -> None:
        arn = f"arn:aws:logs:{self.clients.region}:{environment.ACCOUNT}:log-group:{name}"
        gone = [key for key in before if key not in after]
        if gone:
            self.clients.logs.untag_resource(resourceArn=arn, tagKeys=gone)
        if after:
            self.clients.logs.tag_resource(resourceArn=arn, tags=after)

    def _resource(self, name: str) -> Resource:
        arn = f"arn:aws:logs:{self.clients.region}:{environment.ACCOUNT}:log-group:{name}:*"
        return Resource(name, {"Arn": arn})

    def _check_key(self, key: Any, name: str) -> None:
        """The key works, and its policy lets the Logs service of the region use it for this group."""
        if not key:
            return
        service = f"logs.{self.clients.region}.amazonaws.com"
        group = f"arn:aws:logs:{self.clients.region}:{environment.ACCOUNT}:log-group:{name}"
        problem = keys.problem(self.clients, key) or self.permissions.key_problem(
            service, USED, str(key), {"kms:EncryptionContext:aws:logs:arn": group}
        )
        if problem:
            text = f"The specified KMS key does not exist or is not allowed to be used with Arn '{group}'"
            raise ResourceError(f"{text}: {problem}")


def _tags(properties: Properties) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tag_list(properties)}
