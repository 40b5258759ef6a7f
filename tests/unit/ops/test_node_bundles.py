"""Which nodes came up with another bundle than the deployed one, as they say themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.unit.ops.fakes import FakeCluster
from unbroken import config
from unbroken.aws import connect
from unbroken.aws.cloudformation import CloudFormation, Stack
from unbroken.aws.sagemaker import Node, SageMaker
from unbroken.ops.diff import words
from unbroken.ops.node_bundles import OtherBundle, other_bundle
from unbroken.ops.target import Target

FILE = "name: ml\nworker_groups:\n  - {name: w, instance_type: ml.p4de.24xlarge, num_instances: 2}\n"
CONFIG = config.loads(FILE, Path("c.yaml"))
DEPLOYED, EARLIER = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    """A controller, two workers, and a third that is not up yet."""
    outputs = {"LifecycleUri": f"s3://sagemaker-ml/lifecycle/{DEPLOYED}/"}
    stack = Stack("ml-cluster", "UPDATE_COMPLETE", "", outputs)
    monkeypatch.setattr(CloudFormation, "stack", lambda self, name: stack if name == "ml-cluster" else None)
    states = {"i-0": "Running", "i-1": "Running", "i-2": "Running", "i-3": "Pending"}
    nodes = [
        Node("g", identity, "ml.m5.xlarge", state, "", datetime.now(timezone.utc))
        for identity, state in states.items()
    ]
    monkeypatch.setattr(SageMaker, "nodes", lambda self, name: nodes)
    return Target("rehearsal", "us-west-2", connect("us-west-2"), {})


def found(target: Target, answer: Any) -> OtherBundle:
    return other_bundle(replace(target, nodes=FakeCluster([("/fsx/unbroken/nodes/*", answer)])), CONFIG)


def told(**bundles: str) -> str:
    return "".join(f"/fsx/unbroken/nodes/i-{n[1:]}:{bundle}\n" for n, bundle in bundles.items())


@pytest.mark.parametrize(
    ("said", "others"),
    [
        (told(i0=DEPLOYED, i1=DEPLOYED, i2=DEPLOYED), []),
        (told(i0=EARLIER, i1=DEPLOYED, i2=EARLIER, i9=EARLIER), ["i-0", "i-2"]),
        (told(i0=DEPLOYED, i1=DEPLOYED), ["i-2"]),
        ("", ["i-0", "i-1", "i-2"]),
    ],
)
def test_running_nodes_that_do_not_say_the_deployed_bundle_are_named(
    target: Target, said: str, others: list[str]
) -> None:
    assert found(target, said) == OtherBundle(others)


def test_a_controller_that_cannot_be_asked_leaves_it_unknown(target: Target) -> None:
    unknown = found(target, 2)
    assert unknown.nodes is None
    assert "exit code 2" in unknown.unknown
    [line] = words.of_bundles(unknown)
    assert line.startswith("whether all nodes came up with the deployed bundle is unknown: ")


def test_nothing_is_said_where_there_is_nothing_to_say() -> None:
    assert words.of_bundles(None) == words.of_bundles(OtherBundle([])) == []
    [line] = words.of_bundles(OtherBundle(["i-1", "i-2"]))
    assert "another bundle than the deployed one: i-1, i-2; it reaches new, replaced" in line
