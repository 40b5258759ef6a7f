"""What `up` does between the user's yes and the deployment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.ops.fakes import FakeCluster, Screen
from tests.unit.ops.stackbench import Bench, parameter
from unbroken import config
from unbroken.ops.diff import Plan
from unbroken.ops.diff.changes import Change
from unbroken.ops.diff.groups import GroupChange
from unbroken.ops.interrupts import Interrupted
from unbroken.ops.node_bundles import OtherBundle
from unbroken.ops.stages import Stages
from unbroken.ops.up import run
from unbroken.ops.up.job import Job
from unbroken.ops.up.run import Request, Up
from unbroken.rehearsal.composition import Rehearsal

FILE = "name: {name}\nworker_groups:\n  - {{name: w, instance_type: ml.p4de.24xlarge, num_instances: 1}}\n"


def plan(*changes: Change, groups: tuple[GroupChange, ...] = ()) -> Plan:
    return Plan((), (), changes, groups, (), False)


def work(bench: Bench, request: Request) -> run._Work:
    declared = config.loads(FILE.format(name=bench.cluster), Path("c.yaml"))
    return run._Work(Path("/"), request, declared, bench.target, Stages(Screen()))


@pytest.mark.parametrize(("action", "left"), [("replace", None), ("change", "CREATE_COMPLETE")])
def test_a_cluster_to_be_replaced_goes_first(rehearsal: Rehearsal, action: str, left: str | None) -> None:
    """CloudFormation makes the new one before it ends the old one, and both would have one name."""
    bench = Bench(rehearsal)
    for area in ("cluster", "storage"):
        bench.make(area, {"P": parameter()})
    change = Change("cluster", "Cluster", "AWS::SageMaker::Cluster", action, ("VpcConfig",), False)  # type: ignore[arg-type]
    work(bench, Request(allow_replace=True)).clear_the_way(plan(change))
    assert bench.status("cluster") == left
    assert bench.status("storage") == "CREATE_COMPLETE"


def test_named_nodes_are_taken_out_before(rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[str, ...]] = []
    monkeypatch.setattr(run, "remove_nodes", lambda target, config, ids, told: taken.append(ids))
    work(Bench(rehearsal), Request(remove=("i-1", "i-2"))).clear_the_way(plan())
    assert taken == [("i-1", "i-2")]


MADE = Up("ml", "us-west-2", "rehearsal", ["ml-cluster"], [])
CONTROLLER = GroupChange("controller-machine", "ml.m5.12xlarge", 1, 1, ())
WORKERS = replace(CONTROLLER, name="w")


@pytest.mark.parametrize(
    ("groups", "on_paper", "kept"),
    [
        ((CONTROLLER, WORKERS), False, True),
        ((replace(CONTROLLER, now=0), WORKERS), False, False),
        ((replace(CONTROLLER, fresh=True), WORKERS), False, False),
        ((), False, False),
        ((CONTROLLER, WORKERS), True, False),
    ],
)
def test_only_a_controller_that_was_there_and_is_not_on_paper_is_given_the_job(
    rehearsal: Rehearsal, groups: tuple[GroupChange, ...], on_paper: bool, kept: bool
) -> None:
    made = work(Bench(rehearsal), Request())
    made = replace(made, target=replace(made.target, nodes=None if on_paper else FakeCluster([])))
    assert made.kept_controller(plan(groups=groups)) is kept


@pytest.mark.parametrize(("problem", "asked"), [("", OtherBundle(["i-1"])), ("no controller", None)])
def test_what_reaches_nodes_is_part_of_the_answer(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch, problem: str, asked: OtherBundle | None
) -> None:
    """A controller that could not be asked once is not asked again."""
    monkeypatch.setattr(run, "give_job", lambda *_: Job(problem, "command"))
    monkeypatch.setattr(run, "other_bundle", lambda *_: OtherBundle(["i-1"]))
    found = work(Bench(rehearsal), Request()).reach_nodes(MADE)
    assert found == replace(MADE, job=Job(problem, "command"), other_bundle=asked)


def test_stopped_meanwhile_it_says_that_the_deployment_is_done(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any) -> Job:
        raise Interrupted(2)

    monkeypatch.setattr(run, "give_job", stopped)
    with pytest.raises(Interrupted) as interrupted:
        work(Bench(rehearsal), Request()).reach_nodes(MADE)
    assert "it is deployed" in interrupted.value.explanation[0]
