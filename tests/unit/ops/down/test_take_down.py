"""What `down` must not touch: anything at all where one stack is protected, and logs of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from unbroken.aws.cloudformation import Stack
from unbroken.aws.logs import LogGroup
from unbroken.config import ClusterConfig, LogsConfig, WorkerGroup
from unbroken.ops.down.parts import Part
from unbroken.ops.down.take_down import take_down
from unbroken.ops.errors import CannotRun
from unbroken.ops.target import Target

GROUP = "/aws/sagemaker/Clusters/ml/abc"


def cluster() -> ClusterConfig:
    workers = [WorkerGroup(name="w", instance_type="ml.m5.xlarge", num_instances=1)]
    return ClusterConfig(name="ml", worker_groups=workers, logs=LogsConfig(deletion="delete"))


def target(**services: Any) -> Target:
    aws: Any = SimpleNamespace(**services)  # a service that a test does not name must not be asked
    return Target("rehearsal", "us-west-2", aws, {})


@pytest.mark.parametrize(("owner", "gone"), [("ml", [GROUP]), ("another", []), (None, [])])
def test_only_logs_with_our_tag_are_deleted(owner: str | None, gone: list[str]) -> None:
    deleted: list[str] = []
    logs = SimpleNamespace(
        groups=lambda prefix: [LogGroup(GROUP, "arn:logs", 0, 30, 0)],
        tags=lambda arn: {"unbroken:cluster": owner} if owner else {},
        delete=deleted.append,
    )
    left = take_down(target(logs=logs), cluster(), [], lambda _: None)
    assert deleted == gone
    assert [("may be another's" in str(stay)) for stay in left] == [True] * (not gone)


def test_nothing_is_deleted_where_one_stack_is_protected() -> None:
    def part(area: str, protected: bool) -> Part:
        tags = {"unbroken:cluster": "ml"}
        stack = Stack(f"ml-{area}", "CREATE_COMPLETE", "", {}, tags=tags, protected=protected)
        return Part(stack, (), {})

    parts = [part("cluster", protected=False), part("network", protected=True)]
    with pytest.raises(CannotRun, match="ml-network"):
        take_down(target(), cluster(), parts, lambda _: None)
