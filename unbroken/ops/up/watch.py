"""Progress while cdk deploys, as AWS tells it: stacks, their resources, and the cluster's nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unbroken.aws import AwsError
from unbroken.aws.sagemaker import Node
from unbroken.catalog.cloudformation import CLUSTER
from unbroken.ops.stack_progress import Follower, Told
from unbroken.ops.target import Target
from unbroken.ops.up.lifecycle import LifecycleLog

FEW_NODES = 16
"""Up to this many nodes, the steps of each are told."""


class Watch:
    """Follows stacks while cdk deploys them, and the nodes while the cluster comes up."""

    def __init__(self, target: Target, cluster: str, stacks: Sequence[str], told: Told) -> None:
        self._target, self._cluster, self._told = target, cluster, told
        found = {name: target.aws.cloudformation.stack(name) for name in stacks}
        self.followers = [Follower(target, stack, told, name) for name, stack in found.items()]
        self.lifecycle = LifecycleLog(target.aws, cluster)
        self.failed_nodes: dict[str, str] = {}
        """By ``<group>/<instance id>``, the service's message of a node that failed."""
        self._open = list(self.followers)
        self._next = float("-inf")
        self._counts = ""
        self._blind = False

    def done(self, stack: str) -> None:
        """cdk said that this stack is ready."""
        self._look()
        self._told(f"stack {stack} is ready")
        self._open = [follower for follower in self._open if follower.name != stack]

    def look(self) -> None:
        """Tell what is new, as often as the target's pace allows."""
        if self._target.pace.now() >= self._next:
            self._look()
            self._next = self._target.pace.now() + self._target.pace.seconds

    def _look(self) -> None:
        """Progress that cannot be had is no reason for the deployment to stop."""
        if self._blind:
            return
        try:
            for follower in self._open:
                follower.look()
            if self._nodes_come():
                self._look_at_nodes()
        except AwsError as error:
            self._blind = error.denied
            self._told(f"progress is not seen: {error}")

    def _nodes_come(self) -> bool:
        """Whether the cluster is being made or changed now; the lifecycle log begins there."""
        events = [event for one in self._open for event in one.seen if event.resource_type == CLUSTER]
        if not events or not events[-1].status.endswith("_IN_PROGRESS"):
            return False
        self.lifecycle.begin(events[0].time)
        return True

    def _look_at_nodes(self) -> None:
        nodes = self._target.aws.sagemaker.nodes(self._cluster)
        for node in nodes:
            if node.status in ("Failure", "Failed"):
                self.failed_nodes.setdefault(f"{node.group}/{node.instance_id}", node.message)
        counts = _counted(nodes)
        if counts != self._counts:
            self._counts = counts
            self._told(counts)
        for words in self.lifecycle.read():
            if len(nodes) <= FEW_NODES:
                self._told(words)


def _counted(nodes: Sequence[Node]) -> str:
    """The nodes by their status."""
    count = Counter(node.status for node in nodes)
    words = ", ".join(f"{number} {status}" for status, number in sorted(count.items()))
    return f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}: {words}" if nodes else "no nodes yet"
