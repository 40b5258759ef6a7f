"""HyperPod clusters, their nodes, and training plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    @property
    def id(self) -> str:
        """The last part of its ARN; names of log groups and targets of sessions have it."""
        return self.arn.rpartition("/")[2]

    def session_target(self, group: str, instance_id: str) -> str:
        """What Session Manager calls a node (SageMaker developer guide, "Access your cluster nodes")."""
        return f"sagemaker-cluster:{self.id}_{group}-{instance_id}"


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
class Reserved:
    """A part of a training plan: capacity of one type, in one zone, for some time."""

    instance_type: str
    count: int
    zone_id: str
    """Empty where the service tells the zone's name only."""
    zone_name: str
    status: str
    start: datetime | None
    end: datetime | None


@dataclass(frozen=True)
class TrainingPlan:
    """Capacity bought in advance."""

    name: str
    arn: str
    status: str
    """Pending, Active, Scheduled, Expired or Failed."""
    start: datetime | None
    end: datetime | None
    total: int
    available: int
    """Instances not in use."""
    targets: tuple[str, ...]
    """``hyperpod-cluster``, ``training-job``, ..."""
    reserved: tuple[Reserved, ...]


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

    def clusters(self) -> list[str]:
        """Names of the region's clusters."""
        found = self._session.ask_all("sagemaker", "list_clusters", "ClusterSummaries", "clusters")
        return sorted(one["ClusterName"] for one in found)

    def training_plan(self, name: str) -> TrainingPlan | None:
        """A training plan by its name (the last part of its ARN); None where there is none."""
        about = f"training plan {name}"
        try:
            found = self._session.ask("sagemaker", "describe_training_plan", about, TrainingPlanName=name)
        except AwsError as error:
            if error.is_("ResourceNotFound") or error.is_("ValidationException", "not found"):
                return None
            raise
        return _training_plan(found)

    def address(self, cluster: str, instance_id: str) -> str:
        """The node's address in our subnet; empty before it has one."""
        about = f"node {instance_id} of cluster {cluster}"
        found = self._session.ask(
            "sagemaker", "describe_cluster_node", about, ClusterName=cluster, NodeId=instance_id
        )
        address: str = found["NodeDetails"].get("PrivatePrimaryIp", "")
        return address

    def delete_nodes(self, cluster: str, instance_ids: Sequence[str]) -> dict[str, str]:
        """Delete nodes by id, and lower their groups' counts with that; why not, by id, for those refused."""
        answer = self._session.ask(
            "sagemaker",
            "batch_delete_cluster_nodes",
            f"cluster {cluster}",
            ClusterName=cluster,
            NodeIds=list(instance_ids),
        )
        return {one["NodeId"]: f"{one['Message']} ({one['Code']})" for one in answer.get("Failed", ())}

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


def _training_plan(found: Mapping[str, Any]) -> TrainingPlan:
    return TrainingPlan(
        name=found["TrainingPlanName"],
        arn=found["TrainingPlanArn"],
        status=found["Status"],
        start=found.get("StartTime"),
        end=found.get("EndTime"),
        total=found.get("TotalInstanceCount", 0),
        available=found.get("AvailableInstanceCount", 0),
        targets=tuple(found.get("TargetResources", ())),
        reserved=tuple(_reserved(one) for one in found.get("ReservedCapacitySummaries", ())),
    )


def _reserved(found: Mapping[str, Any]) -> Reserved:
    return Reserved(
        instance_type=found["InstanceType"],
        count=found["TotalInstanceCount"],
        zone_id=found.get("AvailabilityZoneId", ""),
        zone_name=found.get("AvailabilityZone", ""),
        status=found["Status"],
        start=found.get("StartTime"),
        end=found.get("EndTime"),
    )
