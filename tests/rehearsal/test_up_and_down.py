"""The verbs themselves, once: the real cdk CLI against the embedded AWS, and the end with nothing left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.rehearsal.aws.assembly import bootstrap
from tests.unit.ops.fakes import FakeCluster, Screen
from unbroken import config
from unbroken.ops.diff import Plan
from unbroken.ops.down import run as down
from unbroken.ops.errors import CannotRun
from unbroken.ops.node_bundles import OtherBundle
from unbroken.ops.target import on_embedded
from unbroken.ops.up import run as up
from unbroken.ops.up.job import Job, command
from unbroken.rehearsal.aws.inventory import inventory, leftovers
from unbroken.rehearsal.composition import Rehearsal

REGION = "us-west-2"
TAKEN = '{"step": "10-role", "result": "controller"}\n{"step": "90-training", "result": "applied"}\n'
FILE = """\
name: ml-verbs
storage: {deletion: delete}
logs: {deletion: delete}
worker_groups:
  - {name: w, instance_type: ml.m5.xlarge, num_instances: 1}
"""


def test_up_again_and_down(rehearsal: Rehearsal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(FILE)
    target, cluster = on_embedded(rehearsal.aws.port, REGION), config.load(path)
    where = [target]
    for module in (up, down):
        monkeypatch.setattr(module, "chosen", lambda *_: (path, cluster, where[-1]))
    bootstrap(rehearsal.aws.clients.of)
    before, screen, plans = inventory(rehearsal.aws.port, REGION), Screen(), list[Plan]()

    made = up.up(up.Request(out=tmp_path / "up"), screen, plans.append)
    assert {target.aws.cloudformation.stack(name).status for name in made.stacks} == {"CREATE_COMPLETE"}  # type: ignore[union-attr]
    assert any("AWS::SageMaker::Cluster) created" in line for line in screen.lines)
    [group] = target.aws.logs.groups("/aws/sagemaker/Clusters/ml-verbs/")
    assert group.retention_days == 30

    assert (made.job, made.other_bundle) == (None, None)

    where.append(replace(target, nodes=FakeCluster([("job.sh", TAKEN), ("/fsx/unbroken/nodes/*", "")])))
    again = up.up(up.Request(out=tmp_path / "up"), screen, plans.append)
    assert [plan.empty for plan in plans] == [False, True]
    uri = target.aws.cloudformation.stack("ml-verbs-cluster").outputs["LifecycleUri"]  # type: ignore[union-attr]
    assert again.job == Job("", command(uri, REGION))
    ids = [node.instance_id for node in target.aws.sagemaker.nodes("ml-verbs")]
    assert again.other_bundle == OtherBundle(ids)
    where.pop()

    def refuse(_: down.Intent) -> None:
        raise CannotRun("not agreed; nothing was done")

    with pytest.raises(CannotRun, match="nothing was done"):
        down.down(down.Request(), screen, refuse)
    assert target.aws.sagemaker.cluster("ml-verbs") is not None

    gone = down.down(down.Request(), screen, lambda intent: None)
    assert gone.deleted == [f"ml-verbs-{area}" for area in ("cluster", "storage", "identity", "network")]
    assert gone.stays == []
    left = leftovers(before, inventory(rehearsal.aws.port, REGION))
    assert (left.unexpected, left.retained) == ([], [])
    assert down.down(down.Request(), screen, refuse).deleted == []
