"""Asks AWS with boto3. Endpoint, region and credentials come from where boto3 always takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from unbroken.aws.gateway import AwsError, Cluster, ClusterEvent, Group, Node, Stack, StackEvent

CONNECT_SECONDS = 5
READ_SECONDS = 30

_NO_CREDENTIALS = (NoCredentialsError, PartialCredentialsError)
_NOT_ALLOWED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_NOT_VALID = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException"}
)


class BotoAws:
    """The ``Aws`` gateway over boto3."""

    def __init__(
        self, region: str, endpoint: str | None = None, session: Any = None, max_attempts: int = 3
    ) -> None:
        """``endpoint`` overrides AWS_ENDPOINT_URL; ``session`` is a boto3 session, made here by default."""
        self._region = region
        self._endpoint = endpoint
        self._max_attempts = max_attempts
        self._session = session or boto3.session.Session()
        self._clients: dict[str, Any] = {}

    def stack(self, name: str) -> Stack | None:
        """The stack, or None where there is none or it is deleted."""
        with _asking("DescribeStacks", f"stack {name}"):
            try:
                found = self._client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
            except ClientError as error:
                if _is(error, "ValidationError", "does not exist"):
                    return None
                raise
        return _stack(found)

    def stack_events(self, name: str) -> list[StackEvent]:
        """The stack's events, oldest first; none for a stack that does not exist."""
        with _asking("DescribeStackEvents", f"stack {name}"):
            try:
                found = self._all("cloudformation", "describe_stack_events", "StackEvents", StackName=name)
            except ClientError as error:
                if _is(error, "ValidationError", "does not exist"):
                    return []
                raise
        return [_stack_event(event) for event in reversed(found)]

    def cluster(self, name: str) -> Cluster | None:
        """The cluster, or None where there is none."""
        with _asking("DescribeCluster", f"cluster {name}"):
            try:
                found = self._client("sagemaker").describe_cluster(ClusterName=name)
            except ClientError as error:
                if _is(error, "ResourceNotFound"):
                    return None
                raise
        return _cluster(found)

    def nodes(self, cluster: str) -> list[Node]:
        """The cluster's nodes, by group and instance id; none for a cluster that does not exist."""
        with _asking("ListClusterNodes", f"cluster {cluster}"):
            try:
                found = self._all(
                    "sagemaker", "list_cluster_nodes", "ClusterNodeSummaries", ClusterName=cluster
                )
            except ClientError as error:
                if _is(error, "ResourceNotFound"):
                    return []
                raise
        return sorted((_node(one) for one in found), key=lambda node: (node.group, node.instance_id))

    def cluster_events(self, cluster: str) -> list[ClusterEvent] | None:
        """The cluster's events, oldest first; None for a cluster that keeps none."""
        with _asking("ListClusterEvents", f"cluster {cluster}"):
            try:
                found = self._all("sagemaker", "list_cluster_events", "Events", ClusterName=cluster)
            except ClientError as error:
                if _is(error, "ValidationException") or _is(error, "ResourceNotFound"):
                    return None
                raise
        return sorted((_cluster_event(event) for event in found), key=lambda event: event.time)

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            config = Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                retries={"mode": "standard", "max_attempts": self._max_attempts},
            )
            self._clients[service] = self._session.client(
                service, region_name=self._region, endpoint_url=self._endpoint, config=config
            )
        return self._clients[service]

    def _all(self, service: str, operation: str, member: str, **arguments: str) -> list[dict[str, Any]]:
        pages = self._client(service).get_paginator(operation).paginate(**arguments)
        return [item for page in pages for item in page[member]]


@contextmanager
def _asking(operation: str, about: str) -> Iterator[None]:
    """Turn what boto3 raises into an AwsError that names the operation and the thing asked about."""
    try:
        yield
    except _NO_CREDENTIALS as error:
        hint = "log in (aws sso login), or set AWS_PROFILE to a profile that has credentials"
        raise AwsError(f"{operation} of {about}: no AWS credentials were found", hint) from error
    except ClientError as error:
        raise _refused(operation, about, error) from error
    except BotoCoreError as error:
        raise AwsError(
            f"{operation} of {about}: {error}", "check the region and the network, then try again"
        ) from error


def _refused(operation: str, about: str, error: ClientError) -> AwsError:
    said = error.response["Error"]
    code, text = said.get("Code", "?"), said.get("Message", "no message")
    hint = "see the message above; AWS's API reference lists the codes of each operation"
    if code in _NOT_ALLOWED:
        hint = f"use credentials whose policies allow {operation}"
    elif code in _NOT_VALID:
        hint = "log in again (aws sso login): the credentials have expired or are not AWS's"
    return AwsError(f"{operation} of {about}: {text} ({code})", hint)


def _is(error: ClientError, code: str, text: str = "") -> bool:
    said = error.response["Error"]
    return said.get("Code") == code and text in said.get("Message", "")


def _stack(found: Mapping[str, Any]) -> Stack:
    outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}
    return Stack(found["StackName"], found["StackStatus"], found.get("StackStatusReason", ""), outputs)


def _stack_event(event: Mapping[str, Any]) -> StackEvent:
    return StackEvent(
        time=event["Timestamp"],
        logical_id=event["LogicalResourceId"],
        resource_type=event["ResourceType"],
        status=event["ResourceStatus"],
        reason=event.get("ResourceStatusReason", ""),
    )


def _cluster(found: Mapping[str, Any]) -> Cluster:
    return Cluster(
        name=found["ClusterName"],
        arn=found["ClusterArn"],
        status=found["ClusterStatus"],
        failure=found.get("FailureMessage", ""),
        node_recovery=found.get("NodeRecovery", ""),
        groups=tuple(_group(group) for group in found.get("InstanceGroups", ())),
    )


def _group(group: Mapping[str, Any]) -> Group:
    return Group(
        name=group["InstanceGroupName"],
        instance_type=group.get("InstanceType", ""),
        current=group.get("CurrentCount", 0),
        target=group.get("TargetCount", 0),
        status=group.get("Status", ""),
    )


def _node(found: Mapping[str, Any]) -> Node:
    status = found["InstanceStatus"]
    return Node(
        group=found["InstanceGroupName"],
        instance_id=found["InstanceId"],
        instance_type=found["InstanceType"],
        status=status["Status"],
        message=status.get("Message", ""),
        launched=found["LaunchTime"],
    )


def _cluster_event(event: Mapping[str, Any]) -> ClusterEvent:
    return ClusterEvent(
        time=event["EventTime"],
        level=event.get("EventLevel", ""),
        resource=event["ResourceType"],
        description=event.get("Description", ""),
        instance_id=event.get("InstanceId", ""),
    )
