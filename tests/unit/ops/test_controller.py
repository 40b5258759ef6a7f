"""Asking the controller: over Session Manager, which says little, and honestly where it cannot be had."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.unit.ops.fakes import FakeCluster
from unbroken import config
from unbroken.aws import connect
from unbroken.aws.sagemaker import Cluster, Node, SageMaker
from unbroken.ops.controller import on_controller
from unbroken.ops.down.jobs import jobs
from unbroken.ops.errors import CannotRun
from unbroken.ops.target import Target

FILE = "name: ml\nworker_groups:\n  - {name: w, instance_type: ml.p4de.24xlarge, num_instances: 1}\n"
CONFIG = config.loads(FILE, Path("c.yaml"))
GROUP = CONFIG.controller_group.name
STARTED = "\nStarting session with SessionId: me-0123\n"
ENDED = "\n\nExiting session with sessionId: me-0123.\n"


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    cluster = Cluster("ml", "arn:aws:sagemaker:us-west-2:1:cluster/abc123", "InService", "", "Automatic", ())
    node = Node(GROUP, "i-1", "ml.m5.xlarge", "Running", "", datetime.now(timezone.utc))
    monkeypatch.setattr(SageMaker, "cluster", lambda self, name: cluster)
    monkeypatch.setattr(SageMaker, "nodes", lambda self, name: [node])
    return Target("aws", "us-west-2", connect("us-west-2"), {"PATH": "/usr/bin"})


def answering(stdout: str, stderr: str = "") -> Any:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, stdout, stderr)

    run.asked = asked  # type: ignore[attr-defined]
    return run


def test_the_session_is_with_the_controller_and_its_own_lines_are_left_out(target: Target) -> None:
    run = answering(f"{STARTED}job 1 of ann: train, RUNNING for 1:00\nunbroken-exit=0{ENDED}")
    assert on_controller(target, CONFIG, "squeue", run) == "job 1 of ann: train, RUNNING for 1:00"
    [command] = run.asked
    assert command[:3] == ["aws", "ssm", "start-session"]
    assert f"sagemaker-cluster:abc123_{GROUP}-i-1" in command
    assert "squeue; echo unbroken-exit=$?" in command[-1]


@pytest.mark.parametrize(
    ("stdout", "stderr", "said"),
    [
        (STARTED + ENDED, "", "could not be asked: Exiting session"),
        ("", "SessionManagerPlugin is not found", "could not be asked: SessionManagerPlugin is not found"),
        (f"{STARTED}slurm down\nunbroken-exit=1{ENDED}", "", "answered with exit code 1: slurm down"),
    ],
)
def test_what_was_not_answered_is_no_answer(target: Target, stdout: str, stderr: str, said: str) -> None:
    with pytest.raises(CannotRun, match=said):
        on_controller(target, CONFIG, "squeue", answering(stdout, stderr))


def test_a_machine_without_the_aws_cli_cannot_ask(target: Target) -> None:
    def run(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory", "aws")

    with pytest.raises(CannotRun, match="No such file or directory: 'aws'"):
        on_controller(target, CONFIG, "squeue", run)


def test_without_a_running_controller_nothing_is_run(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SageMaker, "nodes", lambda self, name: [])
    with pytest.raises(CannotRun, match="no controller is running"):
        on_controller(target, CONFIG, "squeue", answering(""))


def test_jobs_of_a_rehearsal_are_listed_and_unknown_is_said(target: Target) -> None:
    asked = replace(target, nodes=FakeCluster([("squeue", "job 1 of ann: train, RUNNING for 1:00\n")]))
    assert jobs(asked, CONFIG) == (["job 1 of ann: train, RUNNING for 1:00"], "")
    silent = replace(target, nodes=FakeCluster([("squeue", 1)]))
    listed, why = jobs(silent, CONFIG)
    assert listed is None and "exit code 1" in why


def test_a_reduced_rehearsal_has_no_controller_to_ask(target: Target) -> None:
    run = answering("")
    with pytest.raises(CannotRun, match="nodes are on paper, and no Slurm runs"):
        on_controller(replace(target, name="rehearsal"), CONFIG, "squeue", run)
    assert run.asked == []
