"""scripts/lib.sh, each function in a shell of its own with a PATH of the test's choosing."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.scripts.programs import fake

ROOT = Path(__file__).resolve().parents[2]


def _shell(script: str, *folders: Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    argv = ["bash", "-c", f"set -euo pipefail; . '{ROOT}/scripts/lib.sh'; {script}"]
    path = ":".join([*map(str, folders), "/usr/bin:/bin"])
    return subprocess.run(
        argv,
        cwd=cwd,
        env={"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_npm_comes_with_the_pinned_packages() -> None:
    """A fresh machine has neither npm nor node."""
    done = _shell("pinned_npm --version")
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout), done.stderr


@pytest.mark.parametrize(
    ("uid", "sudo", "answer"),
    [
        (0, "exit 1", "yes"),
        (1000, "exit 0", "yes"),
        (1000, "exit 1", "no"),  # a password is needed, and nobody is there to type it
    ],
)
def test_whether_root_can_be_had(uid: int, sudo: str, answer: str, tmp_path: Path) -> None:
    fake(tmp_path, "id", f"[ $1 = -u ] && echo {uid} || echo sudo")
    fake(tmp_path, "sudo", sudo)
    assert _shell("can_be_root && echo yes || echo no", tmp_path).stdout == f"{answer}\n"


def test_shell_scripts_are_found_where_git_refuses(tmp_path: Path) -> None:
    """Git does nothing in a checkout of another user, or in a downloaded archive."""
    fake(tmp_path, "git", "exit 128")
    folder = tmp_path / "a checkout"
    for name in ("scripts/run", "deep/er/made.sh", ".venv/bin/activate.sh", "out/job.sh", ".git/hooks/x"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("#!/usr/bin/env bash\n")
    (folder / "page.md").write_text("no script\n")
    (folder / "job.j2").write_text("{# a template #}\n#!/bin/bash\n")
    (folder / "empty").write_text("")
    done = _shell("shell_scripts", tmp_path, cwd=folder)
    assert done.stdout.splitlines() == ["./deep/er/made.sh", "./scripts/run"], done.stderr


def test_what_root_made_is_given_back(tmp_path: Path) -> None:
    fake(tmp_path, "id", "[ $1 = -u ] && echo 1000 || echo 1000")
    fake(tmp_path, "sudo", 'echo "$@"; exit 0')
    done = _shell("in_checkout some-program an-argument", tmp_path)
    ran, gave = done.stdout.splitlines()
    assert ran.endswith("some-program an-argument")
    assert "chown -h 1000:1000" in gave


def test_of_pip_only_what_takes_long_is_told(tmp_path: Path) -> None:
    said = (
        "Collecting boto3==1.43.0",
        "  Downloading boto3-1.43.0-py3-none-any.whl (140 kB)",
        "  Downloading small-1-py3-none-any.whl (1.2 MB)",
        "  Downloading aws_cdk_lib-2.275.0-py3-none-any.whl (51.3 MB)",
        "Installing collected packages: boto3, aws-cdk-lib",
    )
    words = "\n".join(said)
    done = _shell(f"printf '%s\n' '{words}' | large_downloads")
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "setup:   Downloading aws_cdk_lib-2.275.0-py3-none-any.whl (51.3 MB)",
        "setup:   Installing",
    ]


def test_it_is_told_at_once() -> None:
    """Not when a buffer is full: the next line may be minutes away."""
    argv = ["bash", "-c", ". scripts/lib.sh; large_downloads"]
    with subprocess.Popen(
        argv, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stderr
        process.stdin.write("  Downloading torch-2.13.0.whl (192.1 MB)\n")
        process.stdin.flush()
        assert process.stderr.readline() == "setup:   Downloading torch-2.13.0.whl (192.1 MB)\n"
        process.communicate("")
