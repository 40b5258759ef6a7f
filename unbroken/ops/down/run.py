"""The verb: what there is, what would be lost, the question, the end, and what stays."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from unbroken.checks.result import counted
from unbroken.config import ClusterConfig
from unbroken.ops.choose_target import chosen
from unbroken.ops.cost.staying import staying
from unbroken.ops.down.jobs import jobs
from unbroken.ops.down.parts import Part, parts
from unbroken.ops.down.stays import Stay, stays
from unbroken.ops.down.take_down import take_down
from unbroken.ops.errors import CannotRun
from unbroken.ops.interrupts import Interrupted, twice_ends
from unbroken.ops.remove_stack import guard
from unbroken.ops.stages import Display, Stages
from unbroken.ops.target import Target
from unbroken.ops.up.interrupted import what_goes_on


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    cluster: str | None = None
    target: str = "aws"
    rehearsal: str | None = None
    skip_exports: bool = False


@dataclass(frozen=True)
class Intent:
    """What `down` is about to do."""

    config: ClusterConfig
    target: Target
    parts: Sequence[Part]
    stays: Sequence[Stay]
    jobs: Sequence[str] | None
    """Running and waiting jobs; None where the controller could not be asked."""
    jobs_unknown: str
    """Why not."""


@dataclass(frozen=True)
class Down:
    """A cluster that is gone."""

    cluster: str
    region: str
    deleted: list[str]
    stays: list[Stay]
    costs: dict[str, str]
    """What each kind of what stays costs, in words."""
    jobs: Sequence[str] | None


Agree = Callable[[Intent], None]
"""Shows the intent and raises CannotRun where the user does not want it."""


def down(request: Request, display: Display, agree: Agree) -> Down:
    """Take the cluster down. ConfigError or CannotRun before anything is done, CheckFailed for what stays."""
    _, config, target = chosen(request.target, request.cluster, request.rehearsal)
    stages = Stages(display)
    with twice_ends():
        intent = _look(config, target, stages)
        if intent.parts:
            agree(intent)
        names = [part.stack.name for part in intent.parts]
        with stages.stage("down", f"Take down {config.name}") as stage:
            try:
                left = take_down(
                    target, config, intent.parts, stage.detail, skip_exports=request.skip_exports
                )
            except Interrupted as error:
                error.explanation = what_goes_on(target, names)
                raise
            stage.note = f"{counted(len(names), 'stack')} deleted"
    return Down(config.name, config.region, names, left, _costs(config, left), intent.jobs)


def _costs(config: ClusterConfig, left: Sequence[Stay]) -> dict[str, str]:
    """By kind; prices that cannot be read are no reason for a failure at the very end."""
    try:
        known = staying(config, os.environ, date.today())
    except CannotRun as error:
        return {one.kind: f"unknown: {error.message}" for one in left}
    return {one.kind: known.get(one.type_name, ("unknown", None))[0] for one in left}


def _look(config: ClusterConfig, target: Target, stages: Stages) -> Intent:
    with stages.stage("look", "Look at what is there") as stage:
        found = parts(target, config.name)
        for part in found:
            guard(target, config.name, part.stack)
        listed, unknown = jobs(target, config) if any(part.area == "cluster" for part in found) else ([], "")
        stage.note = counted(len(found), "stack")
    return Intent(config, target, found, stays(found, target.region), listed, unknown)
