"""One synth a shape for the whole session."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import pytest

from stacks.node_runtime import use_packaged_node
from tests.synth.build import EXAMPLES, Synth, synth
from unbroken import config
from unbroken.config import ClusterConfig, IdentityConfig, LoginGroup, StorageConfig, WorkerGroup

use_packaged_node(os.environ)  # before any test here imports a stack, which starts Node.js

Synthesize = Callable[[str], Synth]


@pytest.fixture(scope="session")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> Synthesize:
    """An example's templates, by the name of its file."""

    @cache
    def once(name: str) -> Synth:
        return synth(config.load(EXAMPLES[name]), tmp_path_factory.mktemp(name))

    return once


@pytest.fixture(scope="session", params=EXAMPLES)
def example(request: pytest.FixtureRequest, synthesized: Synthesize) -> Synth:
    """Each cluster file of the repository in turn."""
    return synthesized(request.param)


@pytest.fixture(scope="session")
def examples(synthesized: Synthesize) -> dict[str, Synth]:
    """All of them."""
    return {name: synthesized(name) for name in EXAMPLES}


@pytest.fixture(scope="session")
def mathstral(synthesized: Synthesize) -> Synth:
    """The default cluster."""
    return synthesized("mathstral")


@pytest.fixture(scope="session")
def everything(synthesized: Synthesize) -> Synth:
    """Nearly every option at once."""
    return synthesized("everything")


@pytest.fixture(scope="session")
def closed(synthesized: Synthesize) -> Synth:
    """The cluster without a way out."""
    return synthesized("no-internet")


@pytest.fixture(scope="session")
def brought(synthesized: Synthesize) -> Synth:
    """The cluster in a VPC that is there already."""
    return synthesized("existing-vpc")


@pytest.fixture(scope="session")
def largest(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """The longest names, as many groups and tags as the service takes."""
    groups = [
        WorkerGroup(
            name=f"{'g' * 60}{index:03}", instance_type="ml.trn1.32xlarge", num_instances=1, ebs_gib=1
        )
        for index in range(98)
    ]
    cluster = ClusterConfig(
        name="C" * 63,
        region="us-west-2",
        tags={f"key-{index:03}" + "k" * 100: "v" * 256 for index in range(40)},
        node_recovery="None",
        login_groups=[LoginGroup()],
        worker_groups=groups,
        storage=StorageConfig(deletion="delete", compression="NONE", capacity_gib=460_800),
        identity=IdentityConfig(permissions_boundary="arn:aws:iam::111122223333:policy/boundary"),
    )
    return synth(cluster, tmp_path_factory.mktemp("largest"))
