"""The server as a process: it starts, answers, ends, and dies with the process that started it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unbroken.rehearsal.aws import environment
from unbroken.rehearsal.aws.process import ServerError, ServerInfo, ServerProcess

WAIT_SECONDS = 20.0


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((environment.LOOPBACK, port)) == 0


def wait_until(what: str, condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {WAIT_SECONDS:.0f} s for {what}"
        time.sleep(0.02)


def test_it_starts_and_ends_with_nothing_left(tmp_path: Path) -> None:
    process = ServerProcess(tmp_path / "r1", "us-west-2", reduced=True)
    with process:
        info = ServerInfo.read(tmp_path / "r1")
        assert info is not None and (info.port, info.id) == (process.port, "r1")
        assert listening(process.port)
        kept = process.environment({"PATH": "/bin", "AWS_PROFILE": "mine"})
        assert kept["AWS_ENDPOINT_URL"] == f"http://127.0.0.1:{process.port}"
        assert "AWS_PROFILE" not in kept and kept["PATH"] == "/bin"
    assert not listening(process.port)
    assert not Path(f"/proc/{info.pid}").exists()
    assert "Traceback" not in process.log.read_text()
    process.stop()


def test_nothing_of_the_users_aws_settings_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "HTTPS_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "the user's")
    assert "the user's" not in ServerProcess._outer_environment().values()


def test_a_port_in_use_is_one_clear_error(tmp_path: Path) -> None:
    with socket.create_server((environment.LOOPBACK, 0)) as taken:
        process = ServerProcess(tmp_path / "r2", "us-west-2", reduced=True, port=taken.getsockname()[1])
        with pytest.raises(ServerError, match=r"ended while starting; its last line: .*in use") as failed:
            process.start()
    assert str(process.log) in str(failed.value)


def test_a_server_that_is_never_ready_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = ServerProcess(tmp_path / "r3", "us-west-2", reduced=True)
    monkeypatch.setattr(process, "command", lambda: ["sh", "-c", "echo still busy; exec sleep 60"])
    with pytest.raises(ServerError, match=r"not ready after .* its last line: still busy"):
        process.start(timeout=0.5)


@pytest.mark.parametrize("keep", [False, True])
def test_it_dies_with_its_parent_unless_it_is_kept(tmp_path: Path, keep: bool) -> None:
    state = tmp_path / "r4"
    program = (
        "import sys; from pathlib import Path; from unbroken.rehearsal.aws.process import ServerProcess\n"
        f"ServerProcess(Path({str(state)!r}), 'us-west-2', reduced=True, keep={keep}).start()\n"
        "print('up', flush=True); sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdin is not None and parent.stdout is not None
    assert parent.stdout.readline() == "up\n"
    info = ServerInfo.read(state)
    assert info is not None
    parent.kill()
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
    if keep:
        assert listening(info.port)
        os.kill(info.pid, signal.SIGTERM)
    wait_until("the server's end", lambda: not listening(info.port))
