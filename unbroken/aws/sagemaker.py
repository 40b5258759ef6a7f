"""HyperPod clusters, their nodes and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from unbroken.aws.session import AwsError, Session


@dataclass(frozen=True)
class Group:
    """An instance group of a HyperPod cluster."""

    name: str
    instance_type: str
    current: int
    target: int
    status: str
    """Empty where the service does not say."""


@dataclass(frozen=True)
class Cluster:
    """A HyperPod cluster."""

    name: str
    arn: str
    status: str
    failure: str
    """The service's failure message; it may outlive the failure."""
    node_recovery: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Node:
    """A node of a HyperPod cluster, as ListClusterNodes tells of it."""

    group: str
    instance_id: str
    instance_type: str
    status: str
    message: str
    launched: datetime


@dataclass(frozen=True)
class ClusterEvent:
    """One event of a HyperPod cluster; only clusters with continuous provisioning have any."""

    time: datetime
    level: str
    resource: str
    """Cluster, InstanceGroup or Instance."""
    description: str
    instance_id: str


class SageMaker:
    """Every method raises AwsError where AWS cannot be reached or refuses."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def cluster(self, name: str) -> Cluster | None:
        """The cluster, or None where there is none."""
        try:
            found = self._session.ask("sagemaker", "describe_cluster", f"cluster {name}", ClusterName=name)
        except AwsError as error:
            if error.is_("ResourceNotFound"):
                return None
            raise
        return _cluster(found)

    def nodes(self, cluster: str) -> list[Node]:
        """The cluster's nodes, by group and instance id; none for a cluster that does not exist."""
        try:
            found = self._of_cluster("list_cluster_nodes", "ClusterNodeSummaries", cluster)
        except AwsError as error:
            if error.is_("ResourceNotFound"):
                return []
            raise
        return sorted((_node(one) for one in found), key=lambda node: (node.group, node.instance_id))

    def cluster_events(self, cluster: str) -> list[ClusterEvent] | None:
        """The cluster's events, oldest first; None for a cluster that keeps none."""
        try:
            found = self._of_cluster("list_cluster_events", "Events", cluster)
        except AwsError as error:
            if error.code in ("ValidationException", "ResourceNotFound"):
                return None
            raise
        return sorted((_cluster_event(event) for event in found), key=lambda event: event.time)

    def _of_cluster(self, operation: str, member: str, cluster: str) -> list[dict[str, Any]]:
        return self._session.ask_all(
            "sagemaker", operation, member, f"cluster {cluster}", ClusterName=cluster
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
