"""After a kill -9 of the server nothing is left but what the sweep removes. Needs root."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unbroken.rehearsal.nodes import cgroups, enter
from unbroken.rehearsal.nodes.sweep import sweep_id

pytestmark = pytest.mark.nodes
HIERARCHIES = Path("/sys/fs/cgroup")


def directories(rehearsal: str) -> list[Path]:
    """The rehearsal's control groups on this host."""
    return [path for path in cgroups.find(HIERARCHIES) if path.name == f"unbroken-{rehearsal}"]


def members(rehearsal: str) -> set[int]:
    """All processes in them."""
    files = [file for top in directories(rehearsal) for file in top.rglob("cgroup.procs")]
    return {int(line) for file in files for line in file.read_text().split()}


def until(what: str, condition: Callable[[], bool], seconds: float = 20) -> None:
    """Poll."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Start a bench with one node in a server process of its own; ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(rehearsal: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "unbroken.rehearsal.nodes.lab", "--nodes", "1", "--id", rehearsal]
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ip-10-0-128-10: nsenter")
        return process

    yield start
    for process in started:
        process.communicate("")
        process.wait(20)


def test_a_killed_server_leaves_only_what_the_sweep_removes(
    bench: Callable[[str], subprocess.Popen[str]],
) -> None:
    rehearsal = f"kill-{os.getpid()}"
    mounts = Path("/proc/self/mounts").read_text()
    process = bench(rehearsal)
    inside = members(rehearsal)
    assert inside
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    until(
        "all its processes to end", lambda: not any(Path(f"/proc/{pid}/root/etc").exists() for pid in inside)
    )
    assert Path("/proc/self/mounts").read_text() == mounts
    assert directories(rehearsal)  # the negative control: there is something to sweep
    assert sweep_id(rehearsal) == []
    assert not directories(rehearsal)
    assert sweep_id(rehearsal) == []


def test_the_sweep_leaves_other_rehearsals_alone(bench: Callable[[str], subprocess.Popen[str]]) -> None:
    one, other = f"one-{os.getpid()}", f"other-{os.getpid()}"
    bench(one)
    assert sweep_id(other) == []
    assert members(one)


def test_two_at_once_do_not_collide_and_end_cleanly(bench: Callable[[str], subprocess.Popen[str]]) -> None:
    names = [f"a-{os.getpid()}", f"b-{os.getpid()}"]
    processes = [bench(name) for name in names]
    assert not members(names[0]) & members(names[1])
    for process in processes:
        process.communicate("")
        assert process.returncode == 0
    assert not any(directories(name) for name in names)


def test_entering_a_node_from_the_host(bench: Callable[[str], subprocess.Popen[str]]) -> None:
    rehearsal = f"enter-{os.getpid()}"
    bench(rehearsal)
    init = next(pid for pid in members(rehearsal) if comm(pid) == "systemd")
    parents = status(init, "PPid")[0]
    server = int(status(int(parents), "PPid")[0])
    inner = int(status(init, "NSpid")[-2])
    argv = enter.command(server, inner, ["sh", "-c", "hostname; id -un; pwd; echo $HOME"], user="munge")
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["ip-10-0-128-10", "munge", "/nonexistent"] or result.returncode != 0
    root = subprocess.run(
        enter.command(server, inner, ["hostname"]), capture_output=True, text=True, check=False
    )
    assert root.stdout == "ip-10-0-128-10\n", root.stderr


def comm(pid: int) -> str:
    """A process's name."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


def status(pid: int, field: str) -> list[str]:
    """A field of a process's status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1:] for line in lines if line.startswith(f"{field}:"))
