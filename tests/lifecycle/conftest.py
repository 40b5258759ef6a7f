"""A rendered bundle as the deployment leaves it in S3, and fake nodes that run it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle.fake_node import CONTROLLER, FSX, FakeHost, build
from unbroken import render
from unbroken.config import ClusterConfig
from unbroken_node.journal import Journal
from unbroken_node.main import main, take_job
from unbroken_node.node import Node, discover

CLUSTER = {
    "name": "ml-cluster",
    "login_groups": [{"name": "login-group"}],
    "worker_groups": [{"name": "worker-group-1", "instance_type": "ml.p4de.24xlarge", "num_instances": 1}],
}


@pytest.fixture(scope="session")
def config() -> ClusterConfig:
    return ClusterConfig.model_validate(CLUSTER)


@pytest.fixture(scope="session")
def training(tmp_path_factory: pytest.TempPathFactory, config: ClusterConfig) -> render.Bundle:
    return render.training_bundle(config, tmp_path_factory.mktemp("render") / "training")


@pytest.fixture(scope="session")
def bundle(
    tmp_path_factory: pytest.TempPathFactory, config: ClusterConfig, training: render.Bundle
) -> render.Bundle:
    made = render.bundle(config, tmp_path_factory.mktemp("render") / "bundle")
    deployed = render.deployed(
        config,
        fsx_dns_name=FSX,
        fsx_mount_name="abcd1234",
        lifecycle_bucket="sagemaker-lifecycle",
        data_bucket="data",
        training_uri=f"s3://sagemaker-lifecycle/training/{training.content_hash}/",
    )
    (made.path / "deployed.json").write_text(deployed)
    parameters = render.provisioning_parameters(config, FSX, "abcd1234")
    (made.path / "provisioning_parameters.json").write_text(parameters)
    return made


@dataclass
class Lab:
    """One fake node and the bundle it runs."""

    host: FakeHost
    bundle: Path
    root: Path
    log: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""

    def run(self) -> int:
        """Run all steps; the log's lines are in `log`, its text in `text`."""
        return self._run(main)

    def take_job(self) -> int:
        """Bring a controller that runs to the bundle's job; the log is as with `run`."""
        return self._run(take_job)

    def _run(self, verb: Callable[[Path, FakeHost, Journal], int]) -> int:
        stream = io.StringIO()
        code = verb(self.bundle, self.host, Journal(self.host, stream))
        self.text = stream.getvalue()
        self.log = [json.loads(line) for line in self.text.splitlines()]
        return code

    def results(self) -> dict[str, str]:
        return {line["step"]: line["result"] for line in self.log}

    def last(self) -> dict[str, Any]:
        return self.log[-1]

    def node(self) -> Node:
        return discover(self.host, self.bundle)


MakeLab = Callable[..., Lab]


@pytest.fixture
def make_lab(
    tmp_path: Path, bundle: render.Bundle, training: render.Bundle, monkeypatch: pytest.MonkeyPatch
) -> MakeLab:
    """Make a node by its address; a test that changes the bundle's files gets a copy of them."""
    monkeypatch.delenv("SAGEMAKER_RESOURCE_CONFIG_PATH", raising=False)

    def make(address: str = CONTROLLER, *, files: dict[str, str] | None = None) -> Lab:
        root = tmp_path / f"node-{address}"
        root.mkdir()
        own = tmp_path / f"bundle-{address}"
        own.mkdir()
        for name in ("node.json", "deployed.json", "provisioning_parameters.json", "SHA256SUMS"):
            (own / name).write_text((files or {}).get(name, (bundle.path / name).read_text()))
        return Lab(build(root, address, own, training.path), own, root)

    return make
