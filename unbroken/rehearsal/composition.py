"""Wires the parts of the rehearsal's server together and starts and stops them in order.

In a full rehearsal the nodes are machines in namespaces on a network of their own; in a reduced one they
exist on paper and no gateway is needed, since nothing of theirs runs.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbroken.rehearsal.aws import environment, sagemaker
from unbroken.rehearsal.aws.embedded import EmbeddedAws
from unbroken.rehearsal.aws.gateway.apis import NodeApis
from unbroken.rehearsal.aws.gateway.http import Answer, Server
from unbroken.rehearsal.aws.gateway.imds import MetadataService
from unbroken.rehearsal.aws.gateway.internal import InternalPort
from unbroken.rehearsal.aws.gateway.nodes import Directory, ListedMachines, Sessions
from unbroken.rehearsal.aws.store import EmbeddedStore
from unbroken.rehearsal.events import EventLog
from unbroken.rehearsal.hyperpod import api
from unbroken.rehearsal.hyperpod.machines import Machines
from unbroken.rehearsal.hyperpod.paper import PaperMachines
from unbroken.rehearsal.hyperpod.service import HyperPodService
from unbroken.rehearsal.hyperpod.settings import Settings, SystemClock
from unbroken.rehearsal.hyperpod.states import TrainingPlan
from unbroken.rehearsal.nodes import rootfs
from unbroken.rehearsal.nodes.machines import AWS_PORT, NamespaceMachines
from unbroken.rehearsal.nodes.network import METADATA_ADDRESS

if TYPE_CHECKING:
    from unbroken.config import ClusterConfig

ANY_ROUTER = "0.0.0.0"  # noqa: S104  (inside the node network's own namespace, whose subnets come and go)
INTERNAL_PORT = 9700
METADATA_PORT = 80

Listen = Callable[[str, int], socket.socket]


class Rehearsal:
    """Everything that runs in the server process."""

    def __init__(self, state: Path, port: int, region: str, *, reduced: bool) -> None:
        self.events = EventLog(state / "events.jsonl")
        self.directory = Directory()
        self.aws = EmbeddedAws(port, region)
        self.permissions = self.aws.permissions
        self.store = EmbeddedStore(self.aws.clients, self.aws.fsx, self.permissions)
        self.sessions = Sessions(self.aws.clients)
        self.servers: list[Server] = []
        self.service = self._service(state, reduced)
        self.aws.add([sagemaker.ClusterResource(self.service)])
        self.aws.add_service("sagemaker", sagemaker.TARGET_PREFIX, self._sagemaker)

    def start(self) -> None:
        """Start every part; raises what a part failed with."""
        self.aws.start()
        self.service.start()
        for server in self.servers:
            server.start()

    def bring(self, config: ClusterConfig) -> None:
        """Make stand-ins for what the cluster file brings along, and tell of them."""
        from unbroken.rehearsal.aws import brought  # not at the top: it needs the cluster file's models

        parts = brought.bring(config, self.aws)
        for group in config.worker_groups:
            plan = group.training_plan
            if plan is not None:
                zone, count = plan.availability_zone_id, group.num_instances
                self.service.add_training_plan(TrainingPlan(plan.arn, group.instance_type, zone, count))
                parts.append(f"training plan {plan.arn}")
        if parts:
            self.events.emit("aws", "brought", config.name, parts=parts)

    def stop(self) -> None:
        """Stop every part, the last started first. Safe after a start that failed."""
        for server in self.servers:
            server.stop()
        self.service.close()
        self.aws.stop()

    def _service(self, state: Path, reduced: bool) -> HyperPodService:
        settings = Settings(account_id=environment.ACCOUNT, region=self.aws.region, state_dir=state)
        machines = ListedMachines(self._machines(state, reduced), self.directory)
        return HyperPodService(machines, self.store, self.events, SystemClock(), settings)

    def _machines(self, state: Path, reduced: bool) -> Machines:
        if reduced:
            return PaperMachines()
        work = state / "machines"
        work.mkdir()
        machines = NamespaceMachines(rootfs.layers(rootfs.ensure(print)), work, state.name)
        self._open_gateway(machines.network.listen)
        return machines

    def _open_gateway(self, listen: Listen) -> None:
        """Offer the nodes the AWS APIs, instance metadata and the service's own port."""
        region = self.aws.region
        metadata = MetadataService(self.directory, self.sessions, region, self.store.zone_of)
        apis = NodeApis(self.aws.port, self.sessions, self.permissions, self.store.reaches)
        offered: list[tuple[str, int, Answer, str]] = [
            (ANY_ROUTER, AWS_PORT, apis, "node-apis"),
            (
                METADATA_ADDRESS,
                METADATA_PORT,
                metadata,
                "metadata",
            ),
            (ANY_ROUTER, INTERNAL_PORT, InternalPort(self.directory, self._replace, self.events), "internal"),
        ]
        self.servers = [
            Server(listen(address, port), answer, name) for address, port, answer, name in offered
        ]

    def _replace(self, _asking: str, node: str, reason: str) -> Mapping[str, Any]:
        return self.service.replace_requested("", node, reason)

    def _sagemaker(self, operation: str, body: bytes) -> tuple[int, dict[str, Any]]:
        return api.handle(self.service, operation, body)
