"""What is read out of the cdk CLI's output. The lines are in the form cdk 2.1148 prints."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from unbroken.ops.cdk import finished, full_disk, reason

DONE = "\n \u2705  ml-network\n\n\u2728  Deployment time: 3.21s\n \u2705  ml-storage (no changes)\n"
FAILED = (
    "ml | 2/9 | 9:51:49 PM | CREATE_FAILED        | AWS::EC2::VPC | Vpc Resource creation cancelled\n"
    "ml | 2/9 | 9:51:49 PM | CREATE_FAILED        | AWS::FSx::FileSystem | Fs (Fs1) no such capacity\n"
    "ml failed to deploy\n"
)


def test_stacks_are_seen_as_they_are_done(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(DONE[:8])
    stacks = finished(log)
    assert next(stacks) is None
    with log.open("a") as file:
        file.write(DONE[8:])
    assert [next(stacks) for _ in range(3)] == ["ml-network", "ml-storage", None]


def test_a_destroyed_stack_is_seen(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(" \u2705  ml-network: destroyed\n")
    assert next(finished(log)) == "ml-network"


def test_the_first_cause_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(FAILED)
    assert reason(log) == "AWS::FSx::FileSystem failed: Fs (Fs1) no such capacity"


def test_what_the_app_raised_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "jsii.errors.JavaScriptError: \n  Error: ENOSPC: no space\n"
        "    raise RuntimeError(resp.error) from JavaScriptError(resp.stack)\n"
        "RuntimeError: ENOSPC: no space\npython app.py: Subprocess exited with error 1\n"
    )
    assert reason(log) == "RuntimeError: ENOSPC: no space"


def test_else_the_first_error_else_the_last_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("a\nTypeError: x\nb\n")
    assert reason(log) == "TypeError: x"
    log.write_text("a\nb\n\n")
    assert reason(log) == "b"
    log.write_text("")
    assert reason(log) == "it said nothing"


@pytest.mark.parametrize(("free", "said"), [(0, "full"), (2**30, "")])
def test_a_full_disk_is_the_reason(
    tmp_path: Path, free: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    assert full_disk(tmp_path / "log") == (f"the disk of {tmp_path} is {said}" if said else "")
