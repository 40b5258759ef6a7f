"""CloudFormation's AWS::SageMaker::Cluster, handed to the emulated HyperPod service and waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, Protocol

from unbroken.rehearsal.aws import shapes
from unbroken.rehearsal.aws.handlers import Properties, Resource, ResourceError
from unbroken.rehearsal.hyperpod.errors import ServiceError

TARGET_PREFIX = "SageMaker."
WAIT_SECONDS = 900.0
"""Longest wait for one operation; AWS's own handler allows 12 hours (resource schema)."""


class Outcome(Protocol):
    """How a cluster's last operation ended."""

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""

    @property
    def message(self) -> str:
        """The service's message where it did not."""


class ClusterService(Protocol):
    """The part of the HyperPod service that CloudFormation drives."""

    def create_cluster(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """CreateCluster."""

    def update_cluster(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """UpdateCluster."""

    def delete_cluster(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """DeleteCluster."""

    def describe_cluster(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """DescribeCluster."""

    def wait(self, name_or_arn: str, timeout: float) -> Outcome:
        """Wait until no operation runs on the cluster; raises TimeoutError."""


class ClusterResource:
    """The resource type; ``Ref`` is the cluster's ARN."""

    type_name = "AWS::SageMaker::Cluster"

    def __init__(self, service: ClusterService) -> None:
        self.service = service

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        """A cluster that could not be brought up is deleted again before the stack rolls back, as on AWS."""
        named = {"ClusterName": f"{stack_name}-{logical_id}"[:63], **properties}
        arn = str(
            _call(self.service.create_cluster, shapes.as_request("sagemaker", "CreateCluster", named))[
                "ClusterArn"
            ]
        )
        try:
            self._finish(arn)
        except ResourceError:
            self.delete(arn, properties)
            raise
        return self._resource(arn)

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        request = shapes.as_request("sagemaker", "UpdateCluster", {**new, "ClusterName": physical_id})
        gone = sorted(group_names(old) - group_names(new))
        _call(self.service.update_cluster, request | ({"InstanceGroupsToDelete": gone} if gone else {}))
        self._finish(physical_id)
        return self._resource(physical_id)

    def delete(self, physical_id: str, properties: Properties) -> None:
        try:
            self.service.delete_cluster({"ClusterName": physical_id})
        except ServiceError as error:
            if error.code == "ResourceNotFound":
                return
            raise ResourceError(_handler_message(error.message)) from error
        self._finish(physical_id)

    def _finish(self, arn: str) -> None:
        try:
            outcome = self.service.wait(arn, WAIT_SECONDS)
        except TimeoutError as error:
            raise ResourceError(str(error)) from error
        if not outcome.ok:
            raise ResourceError(_handler_message(outcome.message))

    def _resource(self, arn: str) -> Resource:
        seen = self.service.describe_cluster({"ClusterName": arn})
        created = datetime.fromtimestamp(float(seen["CreationTime"]), timezone.utc).isoformat()
        attributes = {
            "ClusterArn": arn,
            "ClusterStatus": seen["ClusterStatus"],
            "CreationTime": created,
            "FailureMessage": seen.get("FailureMessage", ""),
        }
        return Resource(arn, attributes)


def _call(
    operation: Callable[[Mapping[str, Any]], dict[str, Any]], request: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        return operation(request)
    except ServiceError as error:
        raise ResourceError(_handler_message(error.message)) from error


def _handler_message(message: str) -> str:
    """The way CloudFormation quotes what a service said."""
    return f'Resource handler returned message: "{message}"'


def group_names(properties: Properties) -> set[str]:
    """The names of the instance groups."""
    return {str(group["InstanceGroupName"]) for group in properties.get("InstanceGroups", ())}
