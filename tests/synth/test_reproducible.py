"""The same file gives the same bytes: from any folder, with any umask, without account or network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.synth.app_process import digests, run_app
from tests.synth.build import EXAMPLES, REPOSITORY, Synth, synth
from unbroken import config
from unbroken.config import ClusterConfig

CODE = ("app.py", "cdk.json", "clusters", "lifecycle_assets", "stacks", "training", "unbroken")
LONG_AGO = 946_684_800


def other_bytes(first: Path, second: Path) -> list[str]:
    """Files that differ, or that only one of the folders has."""
    one, two = digests(first), digests(second)
    return [name for name in one | two if one.get(name) != two.get(name)]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A checkout elsewhere, with other times and modes."""
    checkout = tmp_path / "another place" / "project"
    checkout.mkdir(parents=True)
    for name in CODE:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, checkout / name)
    for path in checkout.rglob("*"):
        path.chmod(0o700)
        os.utime(path, (LONG_AGO, LONG_AGO))
    return checkout


def here(name: str, folder: Path) -> Synth:
    """An example synthesized now: somebody may be at work on a node's step or the trainer meanwhile."""
    return synth(config.load(EXAMPLES[name]), folder / "here")


def test_place_time_and_umask_leave_no_trace(copied: Path, tmp_path: Path) -> None:
    first = here("everything", tmp_path)
    context = {"cluster": "clusters/everything.yaml"}
    done = run_app(tmp_path, context, checkout=copied, umask=0o077)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert other_bytes(first.folder, tmp_path / "out") == []


def test_a_changed_step_of_a_node_is_seen(copied: Path, tmp_path: Path) -> None:
    first = here("mathstral", tmp_path)
    with (copied / "lifecycle_assets" / "on_create.sh").open("a") as file:
        file.write("# another\n")
    done = run_app(tmp_path, {}, checkout=copied)
    assert done.returncode == 0
    assert "ml-cluster-cluster.template.json" in other_bytes(first.folder, tmp_path / "out")


def no_network() -> list[str]:
    """A command that runs another without any network; skips the test where the kernel refuses that."""
    prefix = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-rn"]
    try:
        allowed = subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("no network namespace can be made here")
    return prefix


def test_it_needs_neither_account_nor_network(tmp_path: Path) -> None:
    first = here("mathstral", tmp_path)
    done = run_app(tmp_path, {}, prefix=no_network())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert other_bytes(first.folder, tmp_path / "out") == []


def test_another_file_gives_other_bytes(mathstral: Synth, everything: Synth) -> None:
    assert digests(mathstral.folder) != digests(everything.folder)


def test_no_path_of_this_machine_and_no_guessed_zone_gets_out(example: Synth) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in example.folder.glob("*.json"))
    for word in (str(REPOSITORY), str(Path.home()), "/tmp", "dummy1", "site-packages"):
        assert word not in text, word
    assert json.loads((example.folder / "manifest.json").read_text()).get("missing") is None


def turned(cluster: ClusterConfig) -> ClusterConfig:
    """The same cluster, written down in another order, but for the first worker group."""
    first, *others = cluster.worker_groups
    return cluster.model_copy(
        update={
            "worker_groups": [first, *reversed(others)],
            "login_groups": list(reversed(cluster.login_groups)),
            "tags": dict(reversed(cluster.tags.items())),
        }
    )


def test_order_without_a_meaning_changes_nothing(tmp_path: Path) -> None:
    """Only the first worker group's place means something: the job runs there."""
    first = here("everything", tmp_path)
    assert turned(first.config) != first.config
    again = synth(turned(first.config), tmp_path / "turned")
    assert other_bytes(first.folder, again.folder) == []
