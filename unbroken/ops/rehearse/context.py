"""What the parts of one rehearsal share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from unbroken.config import ClusterConfig
from unbroken.ops.cdk import Cdk
from unbroken.ops.rehearse.cluster import Cluster
from unbroken.ops.rehearse.options import Options
from unbroken.ops.rehearse.places import Places
from unbroken.ops.rehearse.sweep import server_pid
from unbroken.ops.stages import Display, StageFailed, Stages
from unbroken.ops.target import Target, on_embedded
from unbroken.rehearsal.aws.inventory import Inventory
from unbroken.rehearsal.aws.process import ServerError, ServerProcess
from unbroken.rehearsal.events import EventLog

CDK_SECONDS = 900.0


@dataclass
class Context:
    """One rehearsal under way."""

    options: Options
    config: ClusterConfig
    root: Path
    places: Places
    events: EventLog
    display: Display
    stages: Stages
    full: bool
    server: ServerProcess
    metrics: list[dict[str, Any]] = field(default_factory=list)
    before: Inventory | None = None
    """What the embedded AWS held before the deploy."""
    deployed: bool = False

    def cdk(self) -> Cdk:
        """The cdk CLI against this rehearsal's embedded AWS."""
        environment = self.target().environment
        logs = self.places.log("cdk").parent
        return Cdk(self.root, environment, logs, self.places.state / "tmp", CDK_SECONDS)

    def target(self) -> Target:
        """This rehearsal's embedded AWS."""
        pid = server_pid(self.places.state)
        nodes = self._nodes(pid) if self.full and pid else None
        return on_embedded(self.server.port, self.config.region, nodes)

    def cluster_file(self) -> Path:
        """The cluster file to synthesize from: the user's, or our copy with fewer workers."""
        return (
            self.places.cluster_file if self.places.cluster_file.exists() else self.options.cluster.resolve()
        )

    def cluster(self) -> Cluster:
        """The nodes. StageFailed where the server is gone."""
        pid = server_pid(self.places.state)
        if pid is None:
            raise StageFailed("the embedded AWS is gone", log=self.server.log)
        return self._nodes(pid)

    def _nodes(self, server_pid: int) -> Cluster:
        return Cluster(self.places.state, server_pid, self.config.controller_group.name)

    def start_server(self) -> None:
        """Start the embedded AWS. StageFailed with its last words if it does not come up."""
        try:
            self.server.start()
        except ServerError as error:
            raise StageFailed(str(error), "", self.server.log) from error


def write_cluster_file(config: ClusterConfig, path: Path) -> None:
    """A cluster file that says what `config` says."""
    content = config.model_dump(mode="json", exclude_unset=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False))
