"""A rehearsal that was to be kept: it is said that it is up where it is, and what can be done with it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from unbroken.cli import nodes, rehearse
from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse import kept, places, sweep
from unbroken.ops.rehearse.places import Owner


def leave_up(base: Path, out: Path, *, nodes: bool, name: str = "1130-ab") -> None:
    """A kept rehearsal whose server is this process."""
    state = base / name
    state.mkdir(parents=True)
    record = {
        "cluster": "ml",
        "region": "us-west-2",
        "controller_group": "head",
        "nodes": nodes,
        "out": str(out),
        "cluster_file": "cluster.yaml",
    }
    (state / places.KEPT_RECORD).write_text(json.dumps(record))
    owner = Owner.process(os.getpid(), kept=True)
    (state / "owner.json").write_text(json.dumps(vars(owner)))


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNBROKEN_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(sweep, "server_pid", lambda _: os.getpid())
    return tmp_path / "state"


@pytest.mark.parametrize("nodes", [True, False])
def test_commands_on_nodes_are_offered_where_there_are_nodes(
    base: Path, tmp_path: Path, nodes: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_up(base, tmp_path / "out", nodes=nodes)
    rehearse._say_kept(tmp_path / "out")
    said = capsys.readouterr().err
    assert "the cluster is still up:" in said
    assert "its own cluster file" in said
    assert "unbroken rehearse --down" in said
    assert ("unbroken exec" in said) == nodes


def test_nothing_is_said_of_a_rehearsal_that_is_gone(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_up(base, tmp_path / "another", nodes=True)
    rehearse._say_kept(tmp_path / "out")
    assert capsys.readouterr().err == ""


def test_a_node_on_paper_cannot_be_entered(base: Path, tmp_path: Path) -> None:
    leave_up(base, tmp_path / "out", nodes=False)
    with pytest.raises(CannotRun, match="nothing of them runs"):
        nodes.run_command(None, "controller", ["sinfo"], None)
    with pytest.raises(CannotRun, match="nothing of them runs"):
        kept.shell_command(kept.find(), "controller", None)


def test_one_of_several_is_not_destroyed_unasked(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("1130-ab", "1130-cd"):
        leave_up(base, tmp_path / name, nodes=True, name=name)
    with pytest.raises(CannotRun, match="several rehearsals are up: 1130-ab, 1130-cd"):
        rehearse.take_down(None)
    rehearse._say_kept(tmp_path / "1130-ab")
    assert "unbroken rehearse --down --id 1130-ab" in capsys.readouterr().err
