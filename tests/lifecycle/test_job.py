"""A controller that runs takes the job of a newer bundle: whole or not at all, and nothing else of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import CONTROLLER, WORKER, snapshot
from tests.lifecycle.test_on_create import Shim, shim
from unbroken import render
from unbroken.config import ClusterConfig
from unbroken_node.steps.environment import UNIT

__all__ = ["shim"]  # a fixture

CHANGED = {
    "name": "ml-cluster",
    "login_groups": [{"name": "login-group"}],
    "worker_groups": [
        {"name": "worker-group-1", "instance_type": "ml.p4de.24xlarge", "num_instances": 1},
        {"name": "added-since", "instance_type": "ml.p4de.24xlarge", "num_instances": 1},
    ],
    "slurm": {"task_plugin": "task/affinity", "auto_resume": False},
    "training": {"num_steps": 7},
}


@pytest.fixture
def newer(tmp_path: Path) -> render.Bundle:
    return render.training_bundle(ClusterConfig.model_validate(CHANGED), tmp_path / "newer-training")


@pytest.fixture
def lab(make_lab: MakeLab, newer: render.Bundle, tmp_path: Path) -> Lab:
    """A controller that came up with one bundle; at hand is one of another job, group and Slurm setting."""
    made = make_lab()
    assert made.run() == 0
    came_up_with = made.bundle
    made.bundle = render.bundle(ClusterConfig.model_validate(CHANGED), tmp_path / "newer").path
    deployed = json.loads((came_up_with / "deployed.json").read_text())
    deployed["training_uri"] = f"s3://sagemaker-lifecycle/training/{newer.content_hash}/"
    (made.bundle / "deployed.json").write_text(json.dumps(deployed))
    shutil.copytree(newer.path, uploaded(made, newer))
    return made


def uploaded(lab: Lab, training: render.Bundle) -> Path:
    return lab.host.machine.s3 / "sagemaker-lifecycle/training" / training.content_hash


def current(lab: Lab) -> str:
    return str((lab.root / "fsx/unbroken/current").readlink())


def test_it_becomes_current_and_its_python_is_built_anew(lab: Lab, newer: render.Bundle) -> None:
    calls = len(lab.host.machine.calls)
    assert lab.take_job() == 0, lab.text
    assert lab.results() == {"10-role": "controller", "90-training": "applied", "95-environment": "applied"}
    assert current(lab) == newer.content_hash
    assert "num_steps: 7" in (lab.root / "fsx/unbroken/current/job.yaml").read_text()
    verbs = [call[1] for call in lab.host.machine.calls[calls:] if call[0] == "systemctl" and UNIT in call]
    assert [verb for verb in verbs if verb in ("stop", "enable")] == ["stop", "enable"]
    assert newer.content_hash in (lab.root / "etc/systemd/system" / UNIT).read_text()


def test_a_job_that_runs_keeps_what_it_started_from(lab: Lab, training: render.Bundle) -> None:
    before = snapshot(lab.root / "fsx/unbroken" / training.content_hash)
    assert lab.take_job() == 0
    assert snapshot(lab.root / "fsx/unbroken" / training.content_hash) == before


def test_a_second_run_changes_nothing(lab: Lab) -> None:
    assert lab.take_job() == 0
    before = snapshot(lab.root)
    assert lab.take_job() == 0
    assert lab.results() == {"10-role": "controller", "90-training": "skipped", "95-environment": "skipped"}
    assert snapshot(lab.root) == before


def test_nothing_but_the_job_changes(lab: Lab) -> None:
    """Neither Slurm's settings, which differ in the newer bundle, nor the version the node came up with."""

    def rest() -> dict[str, str]:
        job = ("fsx/unbroken/current", f"etc/systemd/system/{UNIT}", "s3/")
        return {name: text for name, text in snapshot(lab.root).items() if not name.startswith(job)}

    before = rest()
    assert lab.take_job() == 0
    added = {name for name, text in rest().items() if before.get(name) != text}
    assert {name.split("/")[2] for name in added} == {current(lab)}


@pytest.mark.parametrize("damage", ["missing", "changed", "refused"])
def test_a_download_that_is_not_whole_leaves_what_is_there(
    lab: Lab, newer: render.Bundle, training: render.Bundle, damage: str
) -> None:
    folder = uploaded(lab, newer)
    if damage == "refused":
        shutil.rmtree(folder)
    elif damage == "missing":
        (folder / "job.yaml").unlink()
    else:
        (folder / "training/loop.py").write_text("changed")
    before = snapshot(lab.root / "fsx")
    assert lab.take_job() == 1
    assert lab.last()["step"] == "90-training"
    assert snapshot(lab.root / "fsx") == before
    assert current(lab) == training.content_hash
    assert lab.host.machine.active >= {UNIT}


def test_the_steps_of_a_new_node_do_not_ask_less(lab: Lab) -> None:
    """The negative control: the service's file lacks the group that was added, which a new node refuses."""
    assert lab.run() == 2
    assert "worker_groups" in lab.last()["error"]


def test_only_the_controller_takes_it(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    assert lab.take_job() == 1
    assert lab.last()["error"] == f"this is a compute node: run it on the controller, at {CONTROLLER}"


def test_only_root_takes_it(lab: Lab) -> None:
    lab.host.root_user = False
    assert lab.take_job() == 1
    assert lab.last()["error"] == "only root may do this: run it with sudo"


def test_the_script_verifies_the_bundle_and_runs_it_where_it_lies(shim: Shim) -> None:
    shim.python()
    done = shim.run(shim.bundle / "job.sh", cwd=shim.root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == f"ran -I -S -B {shim.bundle} job"
    assert not shim.home.exists(), "the bundle that the node came up with stays the current one"


def test_the_script_refuses_a_damaged_bundle(shim: Shim) -> None:
    shim.python()
    (shim.bundle / "unbroken_node/main.py").write_text("print('not ours')")
    done = shim.run(shim.bundle / "job.sh")
    assert done.returncode == 2
    assert "damaged or incomplete" in json.loads(done.stdout.splitlines()[-1])["error"]


def test_an_unknown_argument_runs_no_step(bundle: render.Bundle) -> None:
    argv = ["python3", "-I", "-S", "-B", str(bundle.path), "jobs"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "['jobs']: neither job nor keep-slurm-conf\n"
