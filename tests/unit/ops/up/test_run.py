"""What `up` does between the user's yes and the deployment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.ops.fakes import Screen
from tests.unit.ops.stackbench import Bench, parameter
from unbroken import config
from unbroken.ops.diff import Plan
from unbroken.ops.diff.changes import Change
from unbroken.ops.stages import Stages
from unbroken.ops.up import run
from unbroken.ops.up.run import Request
from unbroken.rehearsal.composition import Rehearsal

FILE = "name: {name}\nworker_groups:\n  - {{name: w, instance_type: ml.p4de.24xlarge, num_instances: 1}}\n"


def plan(*changes: Change) -> Plan:
    return Plan((), (), changes, (), (), False)


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
