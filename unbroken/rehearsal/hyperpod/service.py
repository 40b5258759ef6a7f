"""HyperPodService: the front of the emulated service; every public operation is a method here.

Requests and answers are plain dicts in the SageMaker API's own shapes. What each operation does lives in the
modules beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.rehearsal.hyperpod.machines import Machines, NodeStore
from unbroken.rehearsal.hyperpod.settings import Clock, Events, Settings

Request = Mapping[str, Any]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How a cluster's last operation ended."""

    ok: bool
    status: str
    """ClusterStatus afterwards; ``Deleted`` once the cluster is gone."""
    message: str


class HyperPodService:
    """The emulated service. Thread-safe. Operations raise ServiceError; the long ones go on in a thread."""

    def __init__(
        self, machines: Machines, aws: NodeStore, events: Events, clock: Clock, settings: Settings
    ) -> None:
        """Nothing is started; ``start`` starts the health poll."""

    def start(self) -> None:
        """Watch for machines that die by themselves, in a thread."""

    def close(self) -> None:
        """Stop the threads and end every machine."""

    def create_cluster(self, request: Request) -> Answer:
        """CreateCluster. Returns ``{"ClusterArn"}`` with the cluster in Creating."""
        raise NotImplementedError

    def update_cluster(self, request: Request) -> Answer:
        """UpdateCluster: groups named are changed or added, InstanceGroupsToDelete go, others stay."""
        raise NotImplementedError

    def update_cluster_software(self, request: Request) -> Answer:
        """UpdateClusterSoftware: fresh roots, same instance ids, lifecycle scripts again."""
        raise NotImplementedError

    def delete_cluster(self, request: Request) -> Answer:
        """DeleteCluster."""
        raise NotImplementedError

    def wait(self, name_or_arn: str, timeout: float) -> Outcome:
        """Wait until no operation runs on the cluster; raises TimeoutError after ``timeout`` seconds."""
        raise NotImplementedError

    def describe_cluster(self, request: Request) -> Answer:
        """DescribeCluster."""
        raise NotImplementedError

    def list_clusters(self, request: Request) -> Answer:
        """ListClusters."""
        raise NotImplementedError

    def list_cluster_nodes(self, request: Request) -> Answer:
        """ListClusterNodes."""
        raise NotImplementedError

    def describe_cluster_node(self, request: Request) -> Answer:
        """DescribeClusterNode."""
        raise NotImplementedError

    def batch_replace_cluster_nodes(self, request: Request) -> Answer:
        """BatchReplaceClusterNodes."""
        raise NotImplementedError

    def batch_reboot_cluster_nodes(self, request: Request) -> Answer:
        """BatchRebootClusterNodes."""
        raise NotImplementedError

    def list_cluster_events(self, request: Request) -> Answer:
        """ListClusterEvents."""
        raise NotImplementedError

    def replace_requested(self, cluster: str, node_name: str, reason: str) -> Answer:
        """The cluster agent asks for a node's recovery; ``{"accepted": bool, "message": str}``.

        ``reason`` is matched exactly: ``Action:Replace`` or ``Action:Reboot``; all else is silently ignored.
        """
        raise NotImplementedError
