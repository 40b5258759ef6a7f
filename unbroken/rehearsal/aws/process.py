"""Starts, watches and stops the rehearsal's server from the command line's process.

The server gets namespaces of its own in a full rehearsal, so that the kernel removes all of it when it
dies. It dies with the process that started it, unless it is to be kept.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbroken.rehearsal.aws import environment

START_SECONDS = 60.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.02
PR_SET_PDEATHSIG = 1

NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "--")
"""How a full rehearsal's server is isolated (util-linux); --kill-child ends it with its parent."""


class ServerError(Exception):
    """The server did not start or did not stop; the message quotes the last line of its log."""


@dataclass(frozen=True)
class ServerInfo:
    """What server.json says."""

    pid: int
    """On the host."""
    port: int
    id: str
    started: float

    @classmethod
    def read(cls, state: Path) -> ServerInfo | None:
        """The running server's record, or None before it is ready."""
        try:
            record: dict[str, Any] = json.loads((state / "server.json").read_text())
        except FileNotFoundError:
            return None
        return cls(record["pid"], record["port"], record["id"], record["started"])


class ServerProcess:
    """One server; use it as a context manager, or call start and stop."""

    def __init__(
        self,
        state: Path,
        region: str,
        *,
        reduced: bool,
        keep: bool = False,
        port: int | None = None,
        cluster: Path | None = None,
    ) -> None:
        """``cluster`` is the cluster file whose brought-along parts the server makes stand-ins of."""
        self.state = state
        self.region = region
        self.reduced = reduced
        self.keep = keep
        self.cluster = cluster
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def command(self) -> list[str]:
        """The server's command line."""
        flags = ["--state", str(self.state), "--port", str(self.port), "--region", self.region]
        flags += ["--cluster", str(self.cluster)] if self.cluster else []
        program = [sys.executable, "-m", "unbroken.rehearsal.server", *flags]
        return [*program, "--reduced"] if self.reduced else [*NAMESPACES, *program]

    def start(self, timeout: float = START_SECONDS, alive: Callable[[], None] = lambda: None) -> ServerInfo:
        """Start it and wait until it is ready; ``alive`` is called while waiting. Raises ServerError."""
        (self.state / "tmp").mkdir(parents=True, exist_ok=True)
        (self.state / "server.json").unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                env={**self._outer_environment(), **environment.server(self.port, self.state, self.region)},
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=None if self.keep else _die_with_parent(os.getpid()),
            )  # fmt: skip
        return self._wait(time.monotonic() + timeout, timeout, alive)

    @property
    def log(self) -> Path:
        """Where the server and everything in it writes."""
        return self.state / "server.log"

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment in which cdk, boto3 and the AWS CLI talk to this server and to nothing else."""
        return environment.client(self.port, self.region, os.environ if base is None else base)

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """End it and everything in it; raises ServerError where it had to be killed. Safe to call twice."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        self._terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            text = (
                f"the rehearsal's server did not end in {timeout:.0f} s and was killed; {self._last_line()}"
            )
            raise ServerError(text) from error

    def _terminate(self) -> None:
        """SIGTERM for the server itself: behind unshare it is the child, whose pid server.json has."""
        info = ServerInfo.read(self.state)
        if info is not None:
            os.kill(info.pid, signal.SIGTERM)
        elif self._process is not None:
            self._process.terminate()

    def _wait(self, deadline: float, timeout: float, alive: Callable[[], None]) -> ServerInfo:
        while (info := ServerInfo.read(self.state)) is None:
            alive()
            if self._process is not None and self._process.poll() is not None:
                raise ServerError(f"the rehearsal's server ended while starting; {self._last_line()}")
            if time.monotonic() > deadline:
                self._give_up()
                raise ServerError(
                    f"the rehearsal's server was not ready after {timeout:.0f} s; {self._last_line()}"
                )
            time.sleep(POLL_SECONDS)
        return info

    def _give_up(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _last_line(self) -> str:
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        said = f"its last line: {lines[-1].strip()}" if lines else "it wrote nothing"
        return f"{said} (log: {self.log})"

    @staticmethod
    def _outer_environment() -> dict[str, str]:
        """Ours without AWS settings and proxies: the server talks to loopback only."""
        dropped = ("AWS_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        return {key: value for key, value in os.environ.items() if not key.startswith(dropped)}


def free_port() -> int:
    """A loopback port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((environment.LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _die_with_parent(parent: int) -> Callable[[], None]:
    """What a child runs before exec so that the kernel ends it when ``parent`` dies, however it dies.

    The kernel looks at the thread that started the child: start servers from a thread that lives on.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def run() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return run
