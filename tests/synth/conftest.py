"""One synth a shape for the whole session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stacks.node_runtime import use_packaged_node
from tests.synth.build import Synth, synth
from unbroken import config
from unbroken.config import ClusterConfig, IdentityConfig, LoginGroup, StorageConfig, WorkerGroup

use_packaged_node(os.environ)  # before any test here imports a stack, which starts Node.js

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def mathstral(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """The default cluster."""
    cluster = config.load(REPOSITORY / "clusters" / "mathstral.yaml")
    return synth(cluster, tmp_path_factory.mktemp("mathstral"))


@pytest.fixture(scope="session")
def largest(tmp_path_factory: pytest.TempPathFactory) -> Synth:
    """Every option, the longest names, as many groups as the service takes."""
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
