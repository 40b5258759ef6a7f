"""The ranks' Python: the controller has it built in the background, where it is the job's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lifecycle.conftest import MakeLab
from tests.lifecycle.fake_node import WORKER
from unbroken import config, render
from unbroken_node.steps import environment

UNIT = Path("etc/systemd/system") / environment.UNIT
WORKERS = {"name": "w", "instance_type": "ml.p4de.24xlarge", "num_instances": 1}


def test_it_is_started_and_not_waited_for(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    assert lab.results()["95-environment"] == "applied"
    assert ("systemctl", "enable", "--now", "--no-block", environment.UNIT) in lab.host.machine.calls
    command = (
        "ExecStart=/usr/bin/python3 /fsx/unbroken/current/training/launch/environment.py --root /fsx/unbroken"
    )
    assert command in (lab.root / UNIT).read_text().splitlines()


def test_workers_leave_it_to_the_controller(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    assert not (lab.root / UNIT).exists()


def test_what_the_unit_starts_is_in_the_training_code(training: render.Bundle) -> None:
    assert (training.path / "training/launch/environment.py").is_file()
    assert (training.path / "training/requirements.txt").is_file()


@pytest.mark.parametrize(
    ("training", "built"),
    [({}, True), ({"python": "/opt/mine/bin/python3"}, False), ({"container_image": "/fsx/a.sqsh"}, False)],
)
def test_it_is_built_only_where_the_job_takes_it(training: dict[str, str], built: bool) -> None:
    groups = [WORKERS]
    cluster = config.ClusterConfig.model_validate(
        {"name": "x", "worker_groups": groups, "training": training}
    )
    assert render.node_document(cluster)["training"]["environment"] is built
