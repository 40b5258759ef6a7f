"""Giving the job to a controller that runs: what is asked of it, and what is told where it cannot take it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.unit.ops.fakes import FakeCluster, Screen
from unbroken import config
from unbroken.aws import connect
from unbroken.aws.cloudformation import CloudFormation, Stack
from unbroken.aws.sagemaker import Cluster, Node, SageMaker
from unbroken.ops.stages import Stages
from unbroken.ops.target import Target
from unbroken.ops.up.job import Job, command, give_job

FILE = "name: ml\nworker_groups:\n  - {name: w, instance_type: ml.p4de.24xlarge, num_instances: 1}\n"
CONFIG = config.loads(FILE, Path("c.yaml"))
URI = "s3://sagemaker-ml/lifecycle/0123456789abcdef/"
COMMAND = command(URI, "us-west-2")
TAKEN = """\
{"step": "10-role", "result": "controller"}
{"step": "90-training", "result": "applied"}
{"step": "95-environment", "result": "skipped"}
"""
TORN = """\
{"step": "10-role", "result": "controller"}
{"step": "90-training", "result": "failed", "error": "s3://b/training/1/ did not arrive whole: no SHA256SUMS"}
"""


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    """A rehearsal's; AWS's is made of it."""
    stack = Stack("ml-cluster", "UPDATE_COMPLETE", "", {"LifecycleUri": URI})
    monkeypatch.setattr(CloudFormation, "stack", lambda self, name: stack if name == "ml-cluster" else None)
    return Target("rehearsal", "us-west-2", connect("us-west-2"), {"PATH": os.environ["PATH"]})


def given(target: Target, answer: Any) -> tuple[Job, str]:
    """What became of it, and the stage's last line."""
    screen = Screen()
    found = give_job(replace(target, nodes=FakeCluster([("job.sh", answer)])), CONFIG, Stages(screen))
    return found, screen.lines[-1]


def test_a_controller_that_takes_it_is_told_with_its_steps(target: Target) -> None:
    found, line = given(target, TAKEN)
    assert found == Job("", COMMAND)
    assert line.startswith("end Give the job to the controller True")
    assert line.endswith("90-training applied, 95-environment skipped")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (subprocess.TimeoutExpired("sh", 900), "the controller did not answer within 900 s"),
        (FileNotFoundError(2, "No such file", "aws"), "the controller could not be asked"),
        (1, "refused"),
    ],
)
def test_what_is_in_the_way_is_told_and_raises_nothing(target: Target, answer: Any, problem: str) -> None:
    found, line = given(target, answer)
    assert found.problem.startswith(problem)
    assert found.command == COMMAND
    assert line.startswith("end Give the job to the controller False")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (TORN, "90-training: s3://b/training/1/ did not arrive whole: no SHA256SUMS"),
        ("fatal error: An error occurred (403)\n", "fatal error: An error occurred (403)"),
        ("", "it said nothing"),
    ],
)
def test_a_failed_step_is_told_in_its_own_words(
    target: Target, monkeypatch: pytest.MonkeyPatch, said: str, problem: str
) -> None:
    cluster = FakeCluster([])
    monkeypatch.setattr(cluster, "shell", lambda *_, **__: subprocess.CompletedProcess([], 1, said, ""))
    found = give_job(replace(target, nodes=cluster), CONFIG, Stages(Screen()))
    assert found.problem == problem


def test_without_the_stacks_output_it_is_not_asked(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CloudFormation, "stack", lambda self, name: None)
    found = give_job(replace(target, nodes=FakeCluster([])), CONFIG, Stages(Screen()))
    assert "stack ml-cluster is not deployed" in found.problem
    assert found.command == ""


# The command itself, in a shell whose aws copies from a folder and opens sessions with this machine.

FAKE_AWS = """\
#!{python}
import json, pathlib, shutil, subprocess, sys
pathlib.Path("{folder}/asked").open("a").write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "ssm":
    command = json.loads(sys.argv[sys.argv.index("--parameters") + 1])["command"][0]
    print("\\nStarting session with SessionId: me-0123", flush=True)
    sys.exit(subprocess.run(["sh", "-c", command]).returncode)
shutil.copytree("{folder}/bundle", sys.argv[-1], dirs_exist_ok=True)
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with programs, a place for temporary files, and a bundle."""
    for name in ("programs", "tmp", "bundle"):
        (tmp_path / name).mkdir()
    program(tmp_path, "aws", FAKE_AWS.format(python=sys.executable, folder=tmp_path))
    return tmp_path


def program(machine: Path, name: str, text: str) -> None:
    (machine / "programs" / name).write_text(text)
    (machine / "programs" / name).chmod(0o755)


def environment(machine: Path) -> dict[str, str]:
    return {"PATH": f"{machine}/programs:{os.environ['PATH']}", "TMPDIR": f"{machine}/tmp"}


def in_a_shell(machine: Path, job: str) -> subprocess.CompletedProcess[str]:
    """What the command does with a bundle whose job.sh is this."""
    (machine / "bundle/job.sh").write_text(job)
    return subprocess.run(
        ["sh", "-c", COMMAND], env=environment(machine), capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("code", [0, 7])
def test_the_command_runs_the_fetched_job_and_leaves_nothing(machine: Path, code: int) -> None:
    done = in_a_shell(machine, f"echo it ran; exit {code}")
    assert (done.stdout, done.returncode) == ("it ran\n", code)
    assert list((machine / "tmp").iterdir()) == []
    asked = (machine / "asked").read_text()
    assert asked.startswith(f"s3 cp --recursive --only-show-errors --region us-west-2 {URI} ")


@pytest.mark.parametrize("lacking", ["aws", "mktemp"])
def test_where_nothing_can_be_fetched_nothing_is_run_or_removed(machine: Path, lacking: str) -> None:
    program(machine, lacking, "#!/bin/sh\nexit 1\n")
    done = in_a_shell(machine, "echo it ran")
    assert (done.stdout, done.returncode) == ("", 1)
    assert (machine / "bundle/job.sh").is_file()
    assert list((machine / "tmp").iterdir()) == []


def test_over_session_manager_it_arrives_as_it_is(
    target: Target, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = CONFIG.controller_group.name
    node = Node(group, "i-1", "ml.m5.xlarge", "Running", "", datetime.now(timezone.utc))
    cluster = Cluster("ml", "arn:aws:sagemaker:us-west-2:1:cluster/abc123", "InService", "", "Automatic", ())
    monkeypatch.setattr(SageMaker, "cluster", lambda self, name: cluster)
    monkeypatch.setattr(SageMaker, "nodes", lambda self, name: [node])
    (machine / "bundle/job.sh").write_text(f"cat <<'E'\n{TAKEN}E\n")
    screen = Screen()
    on_aws = replace(target, name="aws", environment=environment(machine))
    assert give_job(on_aws, CONFIG, Stages(screen)) == Job("", COMMAND)
    assert screen.lines[-1].endswith("90-training applied, 95-environment skipped")
    (machine / "bundle/job.sh").write_text(f"cat <<'E'\n{TORN}E\nexit 1\n")
    assert give_job(on_aws, CONFIG, Stages(screen)).problem.startswith("90-training: s3://b/training/1/ did")
    assert [line.split()[0] for line in (machine / "asked").read_text().splitlines()] == ["ssm", "s3"] * 2


def test_the_guide_has_the_same_command() -> None:
    guide = Path(__file__).parents[4] / "docs/guides/deploy-to-aws.md"
    assert command("LIFECYCLE_URI", "us-west-2") in " ".join(guide.read_text().split())
