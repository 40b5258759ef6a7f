"""Starts the agent: leaves at once on any node but the controller, else writes, listens and watches."""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from pathlib import Path

from cluster_agent import cluster_config, conf_files, probe, service_client
from cluster_agent.cluster_config import Cluster
from cluster_agent.diagnosis import Verdict
from cluster_agent.recovery import Attendance, Recovery
from cluster_agent.server import PORT, Server
from cluster_agent.slurm import Slurm
from cluster_agent.watch import Watch
from slurm_commands import run

LOG = Path("/var/log/aws/clusters/sagemaker-cluster-agent.log")
ROUND_SECONDS = 0.3
FILE_POLL_SECONDS = 0.1
log = logging.getLogger("cluster_agent")


def main() -> int:
    """Run until stopped; 0 at once on any node but the controller."""
    cluster = _wait_for_files()
    gateway = _wait_for_gateway()
    own = service_client.own_address(gateway)
    if not is_controller(cluster, own):
        print("not the controller: nothing to do", flush=True)
        return 0
    _log_to(LOG)
    agent = Agent(gateway)
    agent.configure(cluster)
    agent.run()
    return 0


def is_controller(cluster: Cluster, own_address: str) -> bool:
    """Roles are not in the files: a node finds its own address, and its group says what it is."""
    return any(
        node.address == own_address and node.group == cluster.controller_group for node in cluster.nodes
    )


class Agent:
    """The parts, put together."""

    def __init__(self, gateway: str) -> None:
        self._slurm = Slurm(run)
        self._attendance = Attendance()
        self._recovery = Recovery(self._slurm, service_client.ServiceClient(gateway), self._attendance)
        self._watch = Watch(
            probe.look, self._slurm.nodes, self._slurm.slurmd_started, self._recovery.carry_out
        )
        self._stamp = cluster_config.stamp()

    def configure(self, cluster: Cluster) -> None:
        """Write Slurm's files for this cluster and have them read."""
        nodes_changed = conf_files.write_all(cluster)
        log.info("wrote slurm.conf for %d nodes", len(cluster.slurm_nodes()))
        log.info("%s", conf_files.apply(run, nodes_changed))
        self._watch.use(cluster)

    def run(self) -> None:
        """Answer helpers in a thread and go round for ever."""
        server = Server(("", PORT), self._diagnose, self._attendance)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        while True:
            self._reload()
            self._watch.round()
            time.sleep(ROUND_SECONDS)

    def _reload(self) -> None:
        stamp = cluster_config.stamp()
        if stamp == self._stamp:
            return
        try:
            cluster = cluster_config.read()
            if cluster is not None:
                self._stamp = stamp
                self.configure(cluster)
        except (KeyError, ValueError) as error:
            self._stamp = stamp
            log.error("the service's files cannot be used: %r", error)

    def _diagnose(self, job: int, expression: str) -> Verdict:
        nodes = self._slurm.hostnames(expression)
        return self._recovery.verdict(job, nodes, self._watch.unhealthy(nodes))


def _wait_for_files() -> Cluster:
    """The service writes the files soon after the machine is up."""
    while (cluster := cluster_config.read()) is None:
        time.sleep(FILE_POLL_SECONDS)
    return cluster


def _wait_for_gateway() -> str:
    while True:
        found = service_client.gateway(service_client.ROUTES.read_text())
        if found is not None:
            return found
        time.sleep(FILE_POLL_SECONDS)


def _log_to(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        handlers=[logging.FileHandler(path), logging.StreamHandler(sys.stdout)],
    )
    log.info("started on %s", socket.gethostname())
