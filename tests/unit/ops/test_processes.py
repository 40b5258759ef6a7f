"""No program that a verb starts outlives it, however either of them ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unbroken.ops import processes
from unbroken.ops.rehearse.places import process_start

SECONDS = 20.0
PARENT_AND_CHILD = "sleep 600 & echo $! >child; echo $$ >parent; wait"
STUBBORN = "trap '' TERM; echo $$ >child; echo $$ >parent; while :; do sleep 1; done"


def pid(path: Path) -> int:
    """The number in a file, as soon as it is there."""
    end = time.monotonic() + SECONDS
    while not path.exists() or not path.read_text().endswith("\n"):
        assert time.monotonic() < end, f"{path} was not written"
        time.sleep(0.01)
    return int(path.read_text())


def gone(number: int) -> bool:
    """Whether the process ends in time."""
    end = time.monotonic() + SECONDS
    while process_start(number):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("script", [PARENT_AND_CHILD, STUBBORN])
def test_a_program_ends_with_its_children_when_it_is_left(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 1.0)
    started: list[int] = []
    argv = ["sh", "-c", script]
    with (
        pytest.raises(KeyboardInterrupt),
        processes.running(argv, log=tmp_path / "log", cwd=tmp_path, env=os.environ),
    ):
        started += [pid(tmp_path / name) for name in ("parent", "child")]
        raise KeyboardInterrupt
    assert all(gone(number) for number in started)


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv (util-linux)")
def test_a_program_dies_with_us_where_we_cannot_end_it(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path\n"
        "from unbroken.ops.processes import running\n"
        "here = Path(sys.argv[1])\n"
        "argv = ['sh', '-c', 'echo $$ >started; exec sleep 600']\n"
        "with running(argv, log=here / 'log', cwd=here, env=os.environ): time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) as owner:
        started = pid(tmp_path / "started")
        owner.send_signal(signal.SIGKILL)
    assert gone(started)
