"""The training code: fetched once by the controller, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from tests.lifecycle.conftest import Lab, MakeLab
from tests.lifecycle.fake_node import WORKER
from unbroken import render
from unbroken_node.steps import training


def root(lab: Lab) -> Path:
    return lab.root / "fsx/unbroken"


def test_it_arrives_under_its_hash_and_is_current(make_lab: MakeLab, training: render.Bundle) -> None:
    lab = make_lab()
    assert lab.run() == 0
    assert root(lab).joinpath("current").readlink() == Path(training.content_hash)
    assert (root(lab) / "current/training/pretrain.py").read_bytes() == (
        training.path / "training/pretrain.py"
    ).read_bytes()
    left = {p.name for p in root(lab).iterdir()} - {"nodes"}
    assert left == {training.content_hash, "current"}, "nothing left aside"


def test_workers_leave_it_to_the_controller(make_lab: MakeLab) -> None:
    lab = make_lab(WORKER)
    assert lab.run() == 0
    assert not root(lab).joinpath("current").is_symlink()
    assert "aws" not in {call[0] for call in lab.host.machine.calls}


def test_modes_that_s3_does_not_keep_are_set(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    modes = {p.is_dir(): p.stat().st_mode & 0o7777 for p in (root(lab) / "current/training").rglob("*")}
    assert modes == {True: 0o755, False: 0o644}


def test_a_refused_download_fails_with_the_clients_words(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.host.machine.s3.rename(lab.root / "no-s3")
    assert lab.run() == 1
    assert lab.last()["step"] == "90-training"
    assert "AccessDenied" in lab.last()["error"]
    assert list(root(lab).iterdir()) == []


def test_a_download_that_lacks_a_file_is_refused(make_lab: MakeLab) -> None:
    lab = make_lab()
    next(lab.host.machine.s3.rglob("pretrain.py")).unlink()
    assert lab.run() == 1
    assert "did not arrive whole: training/pretrain.py is missing or differs" in lab.last()["error"]
    assert list(root(lab).iterdir()) == []


def test_a_download_with_a_file_more_is_refused(make_lab: MakeLab) -> None:
    lab = make_lab()
    (next(lab.host.machine.s3.rglob("pretrain.py")).parent / "yaml.py").touch()
    assert lab.run() == 1
    assert "did not arrive whole: training/yaml.py is not of this version" in lab.last()["error"]
    assert list(root(lab).iterdir()) == []


def test_a_file_or_link_that_was_added_is_gone_after_the_next_run(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    (root(lab) / "current/training/yaml").symlink_to("/tmp")
    assert lab.run() == 0
    assert lab.results()["90-training"] == "applied"
    assert not (root(lab) / "current/training/yaml").is_symlink()


def test_what_python_compiled_beside_it_is_no_change(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    compiled = root(lab) / "current/training/__pycache__"
    compiled.mkdir()
    (compiled / "pretrain.cpython-310.pyc").touch()
    assert lab.run() == 0
    assert compiled.is_dir()


def test_a_download_of_another_version_is_refused(make_lab: MakeLab) -> None:
    lab = make_lab()
    sums = next(lab.host.machine.s3.rglob("SHA256SUMS"))
    sums.write_text(sums.read_text() + "\n")
    assert lab.run() == 1
    assert "its SHA256SUMS is that of another version" in lab.last()["error"]


def test_a_damaged_copy_is_fetched_again(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    damaged = root(lab) / "current/training/pretrain.py"
    whole = damaged.read_text()
    damaged.write_text("changed")
    assert lab.run() == 0
    assert lab.results()["90-training"] == "applied"
    assert damaged.read_text() == whole


def test_a_new_version_becomes_current_and_the_old_one_stays(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.run() == 0
    (root(lab) / "older").mkdir()
    training._point(root(lab), "older")
    assert lab.run() == 0
    assert lab.results()["90-training"] == "applied"
    assert (root(lab) / "older").is_dir()
    assert root(lab).joinpath("current").readlink() != Path("older")
