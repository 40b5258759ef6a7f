"""What the describe and list operations show; instances as they were a little while ago, as on AWS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from unbroken.rehearsal.hyperpod import lookup, messages, schema
from unbroken.rehearsal.hyperpod.errors import ServiceError, validation
from unbroken.rehearsal.hyperpod.states import Cluster, Group, Node, NodeStatus, Sighting
from unbroken.rehearsal.hyperpod.world import World

Request = Mapping[str, Any]
Answer = dict[str, Any]
_PAGE = 100
_KEPT_SPEC = (
    "InstanceGroupName", "InstanceType", "LifeCycleConfig", "ExecutionRole", "ThreadsPerCore",
    "InstanceStorageConfigs", "OnStartDeepHealthChecks", "TrainingPlanArn", "OverrideVpcConfig",
    "ScheduledUpdateConfig", "AutoPatchConfig", "CapacityRequirements", "SlurmConfig",
)  # fmt: skip
_KEPT_REQUEST = (
    "VpcConfig", "Orchestrator", "NodeRecovery", "NodeProvisioningMode", "ClusterRole", "TieredStorageConfig",
)  # fmt: skip
_KEPT_NODE = ("LifeCycleConfig", "ThreadsPerCore", "InstanceStorageConfigs", "OverrideVpcConfig")


def describe_cluster(world: World, request: Request) -> Answer:
    """DescribeCluster."""
    schema.check_request("DescribeCluster", request)
    with world.changed:
        cluster = lookup.cluster(world, request["ClusterName"])
        answer: Answer = {
            "ClusterArn": cluster.arn,
            "ClusterName": cluster.name,
            "ClusterStatus": cluster.status.value,
            "CreationTime": cluster.created,
            "InstanceGroups": [_group(world, cluster, group) for group in cluster.groups.values()],
            "NodeRecovery": "Automatic",
        }
        answer |= {key: cluster.request[key] for key in _KEPT_REQUEST if key in cluster.request}
        return answer | ({"FailureMessage": cluster.failure} if cluster.failure else {})


def _group(world: World, cluster: Cluster, group: Group) -> Answer:
    shown = [_seen(world, node).status for node in cluster.members(group.name)]
    answer = {key: group.spec[key] for key in _KEPT_SPEC if key in group.spec}
    answer |= {
        "CurrentCount": sum(status is not NodeStatus.SHUTTING_DOWN for status in shown),
        "TargetCount": group.target,
        "Status": group.status,
    }
    if group.minimum:
        answer["MinCount"] = group.minimum
    if "ImageId" in group.spec:
        answer["CurrentImageId"] = answer["DesiredImageId"] = group.spec["ImageId"]
    if group.software_update is not None:
        answer["SoftwareUpdateStatus"] = group.software_update
    return answer


def list_clusters(world: World, request: Request) -> Answer:
    """ListClusters."""
    schema.check_request("ListClusters", request)
    with world.changed:
        rows = [_cluster_summary(cluster) for cluster in world.clusters.values()]
    wanted = request.get("NameContains", "")
    rows = [row for row in _in_time(rows, request, "CreationTime") if wanted in row["ClusterName"]]
    return _page(_sorted(rows, request, "CreationTime", "ClusterName"), request, "ClusterSummaries")


def _cluster_summary(cluster: Cluster) -> Answer:
    return {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "CreationTime": cluster.created,
        "ClusterStatus": cluster.status.value,
    }


def list_nodes(world: World, request: Request) -> Answer:
    """ListClusterNodes."""
    schema.check_request("ListClusterNodes", request)
    with world.changed:
        cluster = lookup.cluster(world, request["ClusterName"])
        rows = [_summary(world, cluster, node, request) for node in cluster.nodes]
    wanted = request.get("InstanceGroupNameContains", "")
    rows = [row for row in _in_time(rows, request, "LaunchTime") if wanted in row["InstanceGroupName"]]
    return _page(_sorted(rows, request, "LaunchTime", "InstanceGroupName"), request, "ClusterNodeSummaries")


def _summary(world: World, cluster: Cluster, node: Node, request: Request) -> Answer:
    row = _node(world, cluster, node)
    if request.get("IncludeNodeLogicalIds", False):
        row["NodeLogicalId"] = node.instance_name
    return row


def _node(world: World, cluster: Cluster, node: Node) -> Answer:
    seen = _seen(world, node)
    status = {"Status": seen.status.value} | ({"Message": seen.message} if seen.message else {})
    answer: Answer = {
        "InstanceGroupName": node.group,
        "InstanceId": node.instance_id,
        "InstanceType": cluster.groups[node.group].spec["InstanceType"],
        "LaunchTime": node.launched,
        "InstanceStatus": status,
        "PrivateDnsHostname": f"{node.name}.{world.settings.region}.compute.internal",
    }
    if node.software_updated is not None:
        answer["LastSoftwareUpdateTime"] = node.software_updated
    return answer


def describe_node(world: World, request: Request) -> Answer:
    """DescribeClusterNode, by instance id or logical id."""
    schema.check_request("DescribeClusterNode", request)
    wanted = request.get("NodeId") or request.get("NodeLogicalId")
    if wanted is None:
        raise validation("Either NodeId or NodeLogicalId must be given.")
    with world.changed:
        cluster = lookup.cluster(world, request["ClusterName"])
        node = lookup.node_by_id(cluster, wanted)
        if node is None:
            raise ServiceError("ResourceNotFound", messages.NO_NODE.format(node=wanted, name=cluster.name))
        details = _node(world, cluster, node)
        spec = cluster.groups[node.group].spec
    details |= {key: spec[key] for key in _KEPT_NODE if key in spec}
    details |= {"PrivatePrimaryIp": node.address, "NodeLogicalId": node.instance_name}
    zone = cluster.network_of(node).subnet.availability_zone_id
    if zone:
        details["Placement"] = {"AvailabilityZoneId": zone}
    if "CapacityRequirements" in spec:
        details["CapacityType"] = next(iter(spec["CapacityRequirements"]))
    return {"NodeDetails": details}


def list_events(world: World, request: Request) -> Answer:
    """ListClusterEvents, which only a Continuous cluster has."""
    schema.check_request("ListClusterEvents", request)
    with world.changed:
        cluster = lookup.cluster(world, request["ClusterName"])
        if not cluster.continuous:
            raise validation(messages.EVENTS_NEED_CONTINUOUS)
        rows = list(cluster.told)
    for key, field in (("InstanceGroupName",) * 2, ("NodeId", "InstanceId"), ("ResourceType",) * 2):
        rows = [row for row in rows if key not in request or row.get(field) == request[key]]
    newest_first = request.get("SortOrder", "Descending") == "Descending"
    rows = sorted(
        _in_time(rows, request, "EventTime", prefix="EventTime"), key=_by("EventTime"), reverse=newest_first
    )
    return _page(rows, request, "Events")


def describe_event(world: World, request: Request) -> Answer:
    """DescribeClusterEvent: one event with what is known of its node; Continuous clusters only."""
    schema.check_request("DescribeClusterEvent", request)
    with world.changed:
        cluster = lookup.cluster(world, request["ClusterName"])
        if not cluster.continuous:
            raise validation(messages.EVENTS_NEED_CONTINUOUS)
        found = next((one for one in cluster.told if one["EventId"] == request["EventId"]), None)
        if found is None:
            text = messages.NO_EVENT.format(event=request["EventId"], name=cluster.name)
            raise ServiceError("ResourceNotFound", text)
        metadata = _event_metadata(cluster, found)
    return {"EventDetails": found | ({"EventDetails": {"EventMetadata": metadata}} if metadata else {})}


def _event_metadata(cluster: Cluster, event: Answer) -> Answer:
    if event["ResourceType"] == "Cluster":
        return {"Cluster": {"FailureMessage": cluster.failure}} if event["EventLevel"] == "Error" else {}
    node = lookup.node_by_id(cluster, event["InstanceId"])
    if node is None:
        return {}
    known: Answer = {"NodeLogicalId": node.instance_name}
    if node.interface_id is not None:
        known["CustomerEni"] = node.interface_id
    if event["EventLevel"] == "Error" and node.message:
        known["FailureMessage"] = node.message
    return {"Instance": known}


def _seen(world: World, node: Node) -> Sighting:
    return node.seen_at(world.clock.now() - world.settings.view_lag_seconds)


def _in_time(rows: list[Answer], request: Request, field: str, prefix: str = "CreationTime") -> list[Answer]:
    after, before = request.get(f"{prefix}After"), request.get(f"{prefix}Before")
    return [
        row
        for row in rows
        if (after is None or row[field] > float(after)) and (before is None or row[field] < float(before))
    ]


def _sorted(rows: list[Answer], request: Request, time_field: str, name_field: str) -> list[Answer]:
    field = name_field if request.get("SortBy") == "NAME" else time_field
    return sorted(rows, key=_by(field), reverse=request.get("SortOrder") == "Descending")


def _by(field: str) -> Callable[[Answer], Any]:
    return lambda row: row[field]


def _page(rows: list[Answer], request: Request, field: str) -> Answer:
    """One page; the token is the number of rows before the next."""
    token = request.get("NextToken", "0")
    if not token.isdecimal():
        raise validation("NextToken is not valid.")
    start, end = int(token), int(token) + int(request.get("MaxResults", _PAGE))
    return {field: rows[start:end]} | ({"NextToken": str(end)} if end < len(rows) else {})
