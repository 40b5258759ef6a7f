"""The job on a controller that runs: its lifecycle steps ran once, so it is told to take a changed job."""

from __future__ import annotations

from dataclasses import dataclass

from unbroken.aws import AwsError
from unbroken.config import ClusterConfig
from unbroken.ops.controller import Refused, on_controller
from unbroken.ops.errors import CannotRun
from unbroken.ops.outputs import Outputs
from unbroken.ops.stages import Stages
from unbroken.ops.target import Target
from unbroken.ops.up.lifecycle import step_in

SECONDS = 900.0
"""Longer than the node itself gives the download of the training code."""


@dataclass(frozen=True)
class Job:
    """Whether the controller has the job that was deployed."""

    problem: str
    """Why it may not have it; empty where it has."""
    command: str
    """What gives it to the controller, in a root shell there."""


def command(uri: str, region: str) -> str:
    """Fetch the bundle aside, run its job.sh, which verifies it first, and leave nothing of it."""
    fetch = f'aws s3 cp --recursive --only-show-errors --region {region} {uri} "$b"'
    return f"""(b=$(mktemp -d) && trap 'rm -rf "$b"' EXIT && {fetch} && bash "$b/job.sh")"""


def give_job(target: Target, config: ClusterConfig, stages: Stages) -> Job:
    """Have the controller take it. What is in the way is told, and is no failure of the deployment."""
    asked = ""
    try:
        with stages.stage("job", "Give the job to the controller") as stage:
            asked = command(Outputs(target.aws, config).get("cluster", "LifecycleUri"), target.region)
            stage.note = _results(_run(target, config, asked))
    except (CannotRun, AwsError) as error:
        return Job(str(error), asked)
    return Job("", asked)


def _run(target: Target, config: ClusterConfig, asked: str) -> list[str]:
    try:
        return on_controller(target, config, asked, seconds=SECONDS).splitlines()
    except Refused as error:
        raise CannotRun(_reason(error.said)) from error


def _results(lines: list[str]) -> str:
    """``90-training applied, 95-environment skipped``."""
    steps = [step for line in lines if (step := step_in(line))]
    return ", ".join(f"{step['step']} {step['result']}" for step in steps[1:])


def _reason(said: str) -> str:
    """The failed step's own words, or whatever was said last."""
    last = (said.splitlines() or ["it said nothing"])[-1]
    step = step_in(last)
    return f"{step['step']}: {step.get('error', 'no message')}" if step else last
