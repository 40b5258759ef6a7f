"""Only what belongs to nobody is swept; what a user keeps, or is just being made, is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unbroken.ops.rehearse import places, sweep
from unbroken.ops.rehearse.places import Owner, Places

GONE = Owner(2**22 + 1, "1")


def make(base: Path, name: str, owner: Owner | None) -> Path:
    state = base / name
    state.mkdir(parents=True)
    if owner:
        Places(name, state, base).write_owner(owner)
    return state


def test_a_dead_owners_rehearsal_is_swept(tmp_path: Path) -> None:
    state = make(tmp_path, "dead", GONE)
    cleaned: list[str] = []

    def clean(identity: str) -> list[str]:
        cleaned.append(identity)
        return []

    assert sweep.sweep(tmp_path, [clean]) == ["dead"]
    assert cleaned == ["dead"]
    assert not state.exists()


def test_a_live_owners_rehearsal_stays(tmp_path: Path) -> None:
    state = make(tmp_path, "live", Owner.process(os.getpid()))
    assert sweep.sweep(tmp_path, []) == []
    assert state.exists()


def test_a_pid_used_again_is_not_the_owner(tmp_path: Path) -> None:
    make(tmp_path, "reused", Owner(os.getpid(), "1"))
    assert sweep.sweep(tmp_path, []) == ["reused"]


def test_a_folder_without_owner_is_swept_once_it_is_old(tmp_path: Path) -> None:
    state = make(tmp_path, "young", None)
    made = state.stat().st_mtime
    assert sweep.sweep(tmp_path, [], now=lambda: made + 1) == []
    assert sweep.sweep(tmp_path, [], now=lambda: made + sweep.YOUNG_SECONDS + 1) == ["young"]


def test_kept_rehearsals_are_those_whose_server_runs(tmp_path: Path) -> None:
    make(tmp_path, "up", Owner.process(os.getpid(), kept=True))
    make(tmp_path, "down", Owner(GONE.pid, GONE.start, kept=True))
    make(tmp_path, "running", Owner.process(os.getpid()))
    assert [found.id for found in sweep.kept(tmp_path)] == ["up"]


def test_what_could_not_be_removed_is_told(tmp_path: Path) -> None:
    state = make(tmp_path, "dead", GONE)
    found = sweep.Found("dead", state, None)
    assert sweep.remove(found, [lambda identity: [f"cgroup {identity}"]]) == ["cgroup dead"]


def test_a_folder_another_sweep_removes_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = make(tmp_path, "dead", None)

    def gone(_: Path) -> None:
        state.rmdir()

    monkeypatch.setattr(sweep, "read_owner", gone)
    assert sweep.sweep(tmp_path, []) == ["dead"]


def test_no_folder_no_rehearsals(tmp_path: Path) -> None:
    assert sweep.rehearsals(tmp_path / "none") == []


def test_a_server_is_found_by_its_command_line_and_killed(tmp_path: Path) -> None:
    """The stand-in has the server's command line, and is no other program's process."""
    state = make(tmp_path, "dead", GONE)
    program = tmp_path / "stand_in.py"
    program.write_text("print('up', flush=True)\ninput()\n")
    argv = [sys.executable, "-m", sweep.SERVER_MODULE, "--state", str(state)]
    code = f"import os, sys; os.execve(sys.executable, {argv!r}, {{'PYTHONPATH': {str(tmp_path)!r}}})"
    package = tmp_path / "unbroken" / "rehearsal"
    package.mkdir(parents=True)
    for file in (package.parent / "__init__.py", package / "__init__.py"):
        file.write_text("")
    (package / "server.py").write_text(program.read_text())
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
    )
    try:
        assert process.stdout and process.stdout.readline() == b"up\n"
        assert sweep.server_pid(state) == process.pid
        assert sweep.server_pid(tmp_path / "other") is None
        sweep.sweep(tmp_path, [])
        assert process.wait(10) == -9
    finally:
        process.kill()
        process.communicate()


def test_a_process_is_told_from_a_later_one() -> None:
    assert Owner.process(os.getpid()).alive()
    assert places.process_start(2**22 + 1) == ""
