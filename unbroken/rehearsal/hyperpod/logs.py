"""A node's lifecycle log: read while the script runs, shipped to CloudWatch, and told as events."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from subprocess import SubprocessError
from typing import Any

from unbroken.rehearsal.hyperpod.lifecycle import role_name
from unbroken.rehearsal.hyperpod.machines import AccessDenied, Machine, MachineError
from unbroken.rehearsal.hyperpod.states import Cluster, Node
from unbroken.rehearsal.hyperpod.world import World

log = logging.getLogger(__name__)
PATH = "/var/log/provision/provisioning.log"


def log_group(cluster: Cluster) -> str:
    """Where a cluster's logs are in CloudWatch."""
    return f"/aws/sagemaker/Clusters/{cluster.name}/{cluster.cluster_id}"


class LifecycleLog:
    """Ships one node's log; the stream is ``LifecycleConfig/<group>/<instance-id>``."""

    def __init__(self, world: World, cluster: Cluster, node: Node, machine: Machine) -> None:
        self.group = log_group(cluster)
        self.stream = f"LifecycleConfig/{node.group}/{node.instance_id}"
        self._world, self._subject, self._machine = world, node.name, machine
        self._reaches_logs = "logs" in world.aws.reach(cluster.network_of(node).subnet.subnet_id)
        self._shipped = 0
        self._role = role_name(cluster.groups[node.group].spec["ExecutionRole"])

    def note(self, line: str) -> None:
        """Say something of the service's own in the stream."""
        self._send([line])

    @contextmanager
    def following(self) -> Iterator[None]:
        """Ship the log as it grows; what is left of it afterwards too, an unfinished last line included."""
        stop = threading.Event()
        follower = threading.Thread(target=self._follow, args=(stop,), daemon=True)
        follower.start()
        try:
            yield
        finally:
            stop.set()
            follower.join()
            self._ship(whole_lines=False)

    def _follow(self, stop: threading.Event) -> None:
        while not stop.wait(self._world.settings.log_poll_seconds):
            self._ship(whole_lines=True)

    def _ship(self, *, whole_lines: bool) -> None:
        try:
            fresh = self._machine.get(PATH)[self._shipped :]
        except (OSError, MachineError, SubprocessError):
            return
        if whole_lines:
            fresh = fresh[: fresh.rfind(b"\n") + 1]
        self._shipped += len(fresh)
        lines = fresh.decode(errors="replace").splitlines()
        if lines:
            self._send(lines)

    def _send(self, lines: list[str]) -> None:
        try:
            if self._reaches_logs:
                self._world.aws.put_log_lines(self.group, self.stream, lines, self._role)
        except AccessDenied as denial:  # on AWS the lines are lost, and the node comes up
            self._world.events.emit("node", "log_denied", self._subject, message=str(denial))
        except Exception:  # a node whose log cannot be shipped boots all the same
            log.warning("log lines of %s were not shipped", self._subject, exc_info=True)
        for line in lines:
            _tell(self._world.events.emit, self._subject, line)


def _tell(emit: Callable[..., object], node_name: str, line: str) -> None:
    """A step's JSON line becomes a ``lifecycle`` event with its fields, other lines a ``lifecycle_line``."""
    record = _step(line)
    if record is not None:
        emit("node", "lifecycle", node_name, **record)
    elif line.strip():
        emit("node", "lifecycle_line", node_name, line=line)


def _step(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "step" in record else None
