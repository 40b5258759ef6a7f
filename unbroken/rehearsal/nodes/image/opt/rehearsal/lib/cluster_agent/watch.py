"""The agent's round: read the service's files, look at the nodes, hand what follows to ``recovery``."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from cluster_agent.cluster_config import AUTOMATIC, Cluster
from cluster_agent.node_state import MISSES_FOR_LOST, Order, Phase, Reach, Sight, Watched
from cluster_agent.slurm import NodeView

SLURM_EVERY_SECONDS = 1.0
"""Slurm is asked less often than the nodes' ports are tried."""

log = logging.getLogger(__name__)

Look = Callable[[Mapping[str, tuple[str, int]]], Mapping[str, Reach]]
Views = Callable[[], Mapping[str, NodeView]]
Started = Callable[[str], str]
Act = Callable[[Order, Watched], None]


class Watch:
    """All nodes of the cluster and what is known of each. Thread-safe."""

    def __init__(
        self,
        look: Look,
        views: Views,
        started: Started,
        act: Act,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._ask_slurm, self._started = look, views, started
        self._act, self._clock = act, clock
        self._nodes: dict[str, Watched] = {}
        self._cluster: Cluster | None = None
        self._views: Mapping[str, NodeView] = {}
        self._asked = float("-inf")
        self._lock = threading.RLock()

    def use(self, cluster: Cluster) -> None:
        """Take over a new picture of the cluster; nodes that left it are forgotten."""
        with self._lock:
            self._cluster = cluster
            names = [node.name for node in cluster.slurm_nodes()]
            self._nodes = {name: self._nodes.get(name) or Watched(name) for name in names}

    def round(self) -> None:
        """Look at every node once and act."""
        with self._lock:
            if self._cluster is None or not self._nodes:
                return
            reach = self._look(
                {n.name: (n.address, self._nodes[n.name].port) for n in self._cluster.slurm_nodes()}
            )
            self._refresh_views()
            if self._views:
                self._judge(self._cluster, reach)

    def unhealthy(self, names: Sequence[str]) -> list[str]:
        """Which of these nodes are marked or lost, looked at anew as often as it takes to be certain."""
        with self._lock:
            for _ in range(MISSES_FOR_LOST):
                self._asked = float("-inf")
                self.round()
            return [name for name in names if name in self._nodes and self._nodes[name].unhealthy]

    def phases(self) -> dict[str, Phase]:
        with self._lock:
            return {node.name: node.phase for node in self._nodes.values()}

    def _refresh_views(self) -> None:
        eager = any(node.phase is Phase.REPLACING and node.gone for node in self._nodes.values())
        if eager or self._clock() - self._asked >= SLURM_EVERY_SECONDS:
            self._asked = self._clock()
            self._views = self._ask_slurm()

    def _judge(self, cluster: Cluster, reach: Mapping[str, Reach]) -> None:
        automatic = cluster.node_recovery == AUTOMATIC
        for listed in cluster.slurm_nodes():
            view = self._views.get(listed.name, NodeView("", ""))
            node = self._nodes[listed.name]
            started = self._started(listed.name) if node.rebooting else ""
            sight = Sight(reach[listed.name], view.state, view.reason, listed.instance_id, started)
            order = node.see(sight, automatic=automatic)
            if order is not None:
                log.info("%s: %s (%s)", listed.name, order.value, sight)
                self._act(order, node)
