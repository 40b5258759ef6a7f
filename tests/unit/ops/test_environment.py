"""What is missing is said before anything starts, and nothing of an earlier run is taken for this one's."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from unbroken.ops import tools
from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse import environment, places
from unbroken.ops.rehearse.options import Options, overlay
from unbroken.rehearsal.aws import environment as embedded


def usage(free_mib: int) -> Any:
    return lambda folder: SimpleNamespace(free=free_mib * 2**20)


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", usage(3))
    with pytest.raises(CannotRun, match="3 MiB free, and a rehearsal needs 1500 MiB") as caught:
        environment.require(tools.project_root(), tmp_path / "not" / "there", tmp_path)
    assert "UNBROKEN_STATE" in caught.value.hint


def test_missing_tools_are_all_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", usage(9000))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(tools, "find_spec", lambda name: None)
    with pytest.raises(CannotRun) as caught:
        environment.require(tmp_path, tmp_path, tmp_path)
    for words in ("the cdk command", "Node.js", "aws_cdk, ministack, cfnlint"):
        assert words in caught.value.message
    assert caught.value.hint == "run `make setup`"


def test_nothing_of_the_users_aws_reaches_cdk() -> None:
    """The rehearsal must not be able to reach an AWS account, whatever the user's environment says."""
    base = {"AWS_PROFILE": "production", "AWS_SESSION_TOKEN": "x", "PATH": "/usr/bin"}
    env = embedded.client(4566, "us-west-2", tools.tool_environment(tools.project_root(), base))
    assert env["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    assert env["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"
    assert "AWS_PROFILE" not in env and "AWS_SESSION_TOKEN" not in env


def test_each_run_has_an_assembly_of_its_own(tmp_path: Path) -> None:
    one, two = (places.create(tmp_path / name, tmp_path / "base") for name in ("one", "two"))
    assert one.cdk_out != two.cdk_out


def test_what_the_run_before_wrote_is_not_read_as_this_ones(tmp_path: Path) -> None:
    first = places.create(tmp_path / "out", tmp_path / "base")
    first.log("cdk-deploy").write_text("CREATE_FAILED")
    (tmp_path / "out" / "report.html").write_text("passed")
    (tmp_path / "out" / "notes.txt").write_text("the user's own")
    second = places.create(tmp_path / "out", tmp_path / "base")
    assert not second.log("cdk-deploy").exists()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["logs", "notes.txt"]


@pytest.mark.parametrize("short", [True, False])
@pytest.mark.parametrize("steps", [None, 4, 7, 300])
def test_the_job_has_two_checkpoints_and_something_left_to_do(steps: int | None, short: bool) -> None:
    found = overlay(Options(Path("c.yaml"), steps=steps, short=short))
    assert found.num_steps and found.checkpoint_every
    assert found.num_steps >= 3 * found.checkpoint_every
