"""Nodes are taken out by name: drained, waited for, deleted, waited for; in that order or not at all."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from unbroken.aws.sagemaker import Node
from unbroken.config import ClusterConfig, WorkerGroup
from unbroken.ops.errors import CannotRun
from unbroken.ops.remove_nodes import DRAIN_SECONDS, remove_nodes
from unbroken.ops.target import Pace, Target

CONFIG = ClusterConfig(
    name="c", worker_groups=[WorkerGroup(name="w", instance_type="ml.p4de.24xlarge", num_instances=2)]
)
ADDRESSES = {"i-a": "10.1.0.4", "i-b": "10.1.0.5"}


@dataclass
class Service:
    """The HyperPod service and Slurm, as far as they are asked here; other calls are errors."""

    said: list[str] = field(default_factory=list)
    there: set[str] = field(default_factory=lambda: set(ADDRESSES))
    states: list[str] = field(default_factory=lambda: ["draining", "drained"])
    refuse: dict[str, str] = field(default_factory=dict)
    stay: int = 1
    clock: float = 0.0

    def address(self, cluster: str, identity: str) -> str:
        return ADDRESSES[identity]

    def delete_nodes(self, cluster: str, ids: list[str]) -> dict[str, str]:
        self.said.append(f"delete {' '.join(ids)}")
        self.there -= set(ids) - self.refuse.keys() if not self.stay else set()
        return self.refuse

    def nodes(self, cluster: str) -> list[Node]:
        self.stay -= 1
        if self.stay < 0:
            self.there = set()
        launched = datetime(2026, 1, 1, tzinfo=timezone.utc)
        return [Node("w", one, "ml.p4de.24xlarge", "Running", "", launched) for one in self.there]

    def shell(self, script: str, timeout: float) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, self._answer(script), "")

    def _answer(self, script: str) -> str:
        if script == "scontrol -o show nodes":
            return "NodeName=ip-10-1-0-4 Arch=x86 NodeAddr=10.1.0.4 NodeHostName=ip-10-1-0-4 State=IDLE\n"
        if script.startswith("scontrol update "):
            self.said.append(script)
            return ""
        assert script == "sinfo -h -N -o '%N %T' -n ip-10-1-0-4"
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        self.said.append(state)
        return f"ip-10-1-0-4 {state}\nip-10-1-0-4 {state}\n"  # a line for each partition

    def pause(self, seconds: float) -> None:
        self.clock += seconds


def target(service: Service) -> Target:
    aws: Any = SimpleNamespace(sagemaker=service)
    nodes: Any = SimpleNamespace(shell=service.shell)
    pace = Pace(60.0, service.pause, lambda: service.clock)
    return Target("rehearsal", "us-west-2", aws, {}, pace=pace, nodes=nodes)


def test_a_node_is_drained_and_empty_before_it_is_deleted() -> None:
    service = Service()
    remove_nodes(target(service), CONFIG, ["i-a"], lambda _: None)
    assert service.said == [
        "scontrol update nodename=ip-10-1-0-4 state=drain reason='unbroken: taken out'",
        "draining",
        "drained",
        "delete i-a",
    ]


def test_a_node_slurm_does_not_know_is_deleted_all_the_same() -> None:
    service, told = Service(), list[str]()
    remove_nodes(target(service), CONFIG, ["i-b"], told.append)
    assert service.said == ["delete i-b"]
    assert told[0] == "i-b: Slurm does not know it"


def test_a_node_that_works_on_is_not_deleted() -> None:
    service = Service(states=["draining"])
    with pytest.raises(CannotRun, match="jobs still run on ip-10-1-0-4"):
        remove_nodes(target(service), CONFIG, ["i-a"], lambda _: None)
    assert service.clock > DRAIN_SECONDS
    assert not any(said.startswith("delete") for said in service.said)


def test_what_hyperpod_refuses_is_said_in_its_words() -> None:
    service = Service(refuse={"i-a": "node is in use (InvalidInstanceStatus)"})
    with pytest.raises(CannotRun, match=r"i-a: node is in use \(InvalidInstanceStatus\)"):
        remove_nodes(target(service), CONFIG, ["i-a"], lambda _: None)


def test_a_node_that_never_goes_is_named() -> None:
    service = Service(stay=10**6)
    with pytest.raises(CannotRun, match="i-a still listed"):
        remove_nodes(target(service), CONFIG, ["i-a"], lambda _: None)
