"""scripts/check runs every step and names all that found something."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.scripts.programs import fake

ROOT = Path(__file__).resolve().parents[2]


def _check(folder: Path, **exits: int) -> subprocess.CompletedProcess[str]:
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    for name in ("ruff", "mypy", "vermin", "shellcheck", "shfmt"):
        fake(programs, name, f"exit {exits.get(name, 0)}")
    env = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(["scripts/check"], cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_all_is_well(tmp_path: Path) -> None:
    done = _check(tmp_path)
    assert done.returncode == 0
    assert "error" not in done.stderr


@pytest.mark.parametrize(
    ("exits", "named"),
    [({"mypy": 1}, "mypy"), ({"ruff": 1, "shfmt": 1}, "ruff (lint), ruff (format), shfmt")],
)
def test_every_finding_is_named_at_the_end(exits: dict[str, int], named: str, tmp_path: Path) -> None:
    done = _check(tmp_path, **exits)
    assert done.returncode == 1
    assert "check: shfmt" in done.stderr
    assert f"error: {named}" in done.stderr
