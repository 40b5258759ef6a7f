"""The ranks' Python: the controller has it built in the background, where it is the job's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle.conftest import MakeLab
from tests.lifecycle.fake_node import WORKER
from unbroken import config, render
from unbroken_node.errors import CommandFailed
from unbroken_node.host import Result
from unbroken_node.steps import environment

UNIT = Path("etc/systemd/system") / environment.UNIT
WORKERS = {"name": "w", "instance_type": "ml.p4de.24xlarge", "num_instances": 1}


def test_it_is_started_and_not_waited_for(make_lab: MakeLab, training: render.Bundle) -> None:
    lab = make_lab()
    assert lab.run() == 0
    assert lab.results()["95-environment"] == "applied"
    assert ("systemctl", "enable", "--now", "--no-block", environment.UNIT) in lab.host.machine.calls
    builder = f"/fsx/unbroken/{training.content_hash}/training/launch/environment.py"
    command = f"ExecStart=/usr/bin/python3 {builder} --root /fsx/unbroken"
    assert command in (lab.root / UNIT).read_text().splitlines()


def test_another_version_that_is_cut_short_does_not_look_done(
    make_lab: MakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = make_lab()
    assert lab.run() == 0
    (lab.root / UNIT).write_text("of an earlier version")
    run = lab.host.run

    def without_enable(*argv: str, **options: Any) -> Result:
        if argv[:2] == ("systemctl", "enable"):
            raise CommandFailed("cut short")
        return run(*argv, **options)

    with monkeypatch.context() as patch:
        patch.setattr(lab.host, "run", without_enable)
        assert lab.run() == 1
    assert environment.check(lab.host, lab.node()) == f"{environment.UNIT} is inactive"
    assert lab.run() == 0
    assert lab.results()["95-environment"] == "applied"


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
