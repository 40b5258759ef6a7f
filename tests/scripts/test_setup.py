"""scripts/setup where something is missing: one sentence, one way out, exit code 2, nothing half-done."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.scripts.programs import fake

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What set-up reads, in a folder with a space in its name, on a machine of a user without root."""
    folder = tmp_path / "my checkout"
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "package-lock.json", folder)
    (tmp_path / "bin").mkdir()
    fake(tmp_path / "bin", "id", "[ $1 = -u ] && echo 1000 || echo ada")
    fake(tmp_path / "bin", "sudo", "exit 1")
    for version in ("", ".10", ".11", ".12", ".13"):
        fake(tmp_path / "bin", f"python3{version}", "exit 1")
    return folder


def _setup(checkout: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{checkout.parent / 'bin'}:/usr/bin:/bin"
    return subprocess.run(
        ["scripts/setup", "rehearse"],
        cwd=checkout,
        env={"PATH": path, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_venv_module_and_no_root(checkout: Path) -> None:
    done = _setup(checkout)
    assert done.returncode == 2
    error, empty, hint = done.stderr.splitlines()
    assert error == "error: python3 is no Python 3.10 or newer with the venv module"
    assert not empty
    assert "python3-venv" in hint
    assert not (checkout / ".venv").exists()


def test_the_interpreter_that_was_named_is_the_only_one_asked(checkout: Path) -> None:
    done = _setup(checkout, PYTHON="/nonexistent/python3")
    assert done.returncode == 2
    assert done.stderr.startswith("error: /nonexistent/python3 is no Python 3.10")


def test_a_full_disk(checkout: Path) -> None:
    fake(checkout.parent / "bin", "df", "printf 'head\\n/dev/x 9000 8990 10 99%% /\\n'")
    done = _setup(checkout)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {checkout} has 10 MiB of free disk; set-up needs ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(checkout: Path) -> None:
    checkout.chmod(0o555)
    done = _setup(checkout)
    checkout.chmod(0o755)
    assert done.stderr.startswith(f"error: {checkout} cannot be written by")


def test_a_second_set_up_waits_for_the_first(checkout: Path) -> None:
    with subprocess.Popen(
        ["flock", "scripts/setup", "sh", "-c", "echo held; read -r _"],
        cwd=checkout,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout and first.stdout.readline() == "held\n"
        path = f"{checkout.parent / 'bin'}:/usr/bin:/bin"
        argv = ["scripts/setup", "rehearse"]
        second = subprocess.Popen(
            argv,
            cwd=checkout,
            env={"PATH": path},
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        assert second.stderr and "another set-up" in second.stderr.readline()
        first.communicate("\n")
        assert "no Python 3.10" in second.communicate()[1]


@pytest.mark.skipif(not (ROOT / "node_modules/.stamp").exists(), reason="this checkout was not set up")
def test_cdk_needs_nothing_but_the_environment() -> None:
    """On a machine without Node.js the environment's own is found."""
    folder = str(ROOT / ".venv/bin")
    done = subprocess.run(
        [f"{folder}/cdk", "--version"], env={"PATH": folder}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
