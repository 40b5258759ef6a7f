"""HyperPodService: the front of the emulated service; every public operation is a method here.

Requests and answers are plain dicts in the SageMaker API's own shapes, times as seconds since the epoch. What
each operation does lives in the modules beside this one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from unbroken.rehearsal.hyperpod import (
    batch,
    create,
    messages,
    plans,
    recovery,
    scaling,
    software,
    update,
    views,
)
from unbroken.rehearsal.hyperpod.boot import end_machine
from unbroken.rehearsal.hyperpod.machines import Machines, NodeStore
from unbroken.rehearsal.hyperpod.settings import Clock, Events, Settings
from unbroken.rehearsal.hyperpod.states import SETTLED, Cluster, TrainingPlan
from unbroken.rehearsal.hyperpod.together import together
from unbroken.rehearsal.hyperpod.world import World

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
        self,
        machines: Machines,
        aws: NodeStore,
        events: Events,
        clock: Clock,
        settings: Settings,
        spawn: Callable[[str, Callable[[], None]], None] | None = None,
    ) -> None:
        """Nothing is started before ``start``. ``spawn`` runs long work, in a thread by default."""
        self.world = World(machines, aws, events, clock, settings)
        if spawn is not None:
            self.world.spawn = spawn
        self._poller = threading.Thread(target=self._watch, name="hyperpod-health", daemon=True)

    def start(self) -> None:
        """Watch for machines that die by themselves, in a thread."""
        self._poller.start()

    def close(self) -> None:
        """Stop the threads and end every machine."""
        self.world.closing.set()
        if self._poller.is_alive():
            self._poller.join()
        with self.world.changed:
            nodes = [node for cluster in self.world.clusters.values() for node in cluster.nodes]
            self.world.changed.notify_all()
        together(end_machine, nodes)
        self.world.machines.close()

    def poll_health(self) -> None:
        """Look once at all machines; ``start`` does this again and again."""
        recovery.poll(self.world)

    def _watch(self) -> None:
        while not self.world.closing.wait(self.world.settings.health_poll_seconds):
            self.poll_health()

    def create_cluster(self, request: Request) -> Answer:
        """CreateCluster. Returns ``{"ClusterArn"}`` with the cluster in Creating."""
        return create.create(self.world, request)

    def update_cluster(self, request: Request) -> Answer:
        """UpdateCluster: groups named are changed or added, InstanceGroupsToDelete go, others stay."""
        return update.update(self.world, request)

    def update_cluster_software(self, request: Request) -> Answer:
        """UpdateClusterSoftware: fresh roots, same instance ids, lifecycle scripts again."""
        return software.update(self.world, request)

    def delete_cluster(self, request: Request) -> Answer:
        """DeleteCluster."""
        return create.delete(self.world, request)

    def wait(self, name_or_arn: str, timeout: float) -> Outcome:
        """Wait until no operation runs on the cluster; raises TimeoutError after ``timeout`` seconds."""
        with self.world.changed:
            known = [c for c in self.world.clusters.values() if name_or_arn in (c.name, c.arn)]
            if not known:
                return Outcome(True, "Deleted", messages.NO_CLUSTER.format(name=name_or_arn))
            if not self.world.changed.wait_for(lambda: self._at_rest(known[0]), timeout):
                raise TimeoutError(
                    f"cluster {known[0].name} was still {known[0].status.value} after {timeout:g} s"
                )
            return self._outcome(known[0])

    def _at_rest(self, cluster: Cluster) -> bool:
        return cluster.name not in self.world.clusters or cluster.status in SETTLED

    def _outcome(self, cluster: Cluster) -> Outcome:
        if cluster.name not in self.world.clusters:
            return Outcome(True, "Deleted", "")
        return Outcome(cluster.last_ok, cluster.status.value, "" if cluster.last_ok else cluster.failure)

    def describe_cluster(self, request: Request) -> Answer:
        """DescribeCluster."""
        return views.describe_cluster(self.world, request)

    def list_clusters(self, request: Request) -> Answer:
        """ListClusters."""
        return views.list_clusters(self.world, request)

    def list_cluster_nodes(self, request: Request) -> Answer:
        """ListClusterNodes."""
        return views.list_nodes(self.world, request)

    def describe_cluster_node(self, request: Request) -> Answer:
        """DescribeClusterNode."""
        return views.describe_node(self.world, request)

    def batch_replace_cluster_nodes(self, request: Request) -> Answer:
        """BatchReplaceClusterNodes."""
        return batch.run(self.world, "BatchReplaceClusterNodes", request)

    def batch_reboot_cluster_nodes(self, request: Request) -> Answer:
        """BatchRebootClusterNodes."""
        return batch.run(self.world, "BatchRebootClusterNodes", request)

    def batch_add_cluster_nodes(self, request: Request) -> Answer:
        """BatchAddClusterNodes."""
        return scaling.add(self.world, request)

    def batch_delete_cluster_nodes(self, request: Request) -> Answer:
        """BatchDeleteClusterNodes."""
        return scaling.delete(self.world, request)

    def describe_cluster_event(self, request: Request) -> Answer:
        """DescribeClusterEvent."""
        return views.describe_event(self.world, request)

    def describe_training_plan(self, request: Request) -> Answer:
        """DescribeTrainingPlan."""
        return plans.describe(self.world, request)

    def list_training_plans(self, request: Request) -> Answer:
        """ListTrainingPlans."""
        return plans.listed(self.world, request)

    def add_training_plan(self, plan: TrainingPlan) -> None:
        """Put a training plan into the account; buying one is not emulated."""
        with self.world.changed:
            self.world.plans[plan.arn] = plan

    def list_cluster_events(self, request: Request) -> Answer:
        """ListClusterEvents."""
        return views.list_events(self.world, request)

    def replace_requested(self, cluster: str, node_name: str, reason: str) -> Answer:
        """The cluster agent asks for a node's recovery; ``{"accepted": bool, "message": str}``.

        ``reason`` is matched exactly: ``Action:Replace`` or ``Action:Reboot``; all else is silently ignored.
        An empty ``cluster`` looks the node up in all clusters.
        """
        return recovery.requested(self.world, cluster, node_name, reason)
