"""One node: namespaces with systemd as pid 1 over an overlay of the root file system's layers.

``init.sh`` is its first process. The network cable is ``network``'s, its control groups are ``cgroups``'.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO

from unbroken.rehearsal.hyperpod.machines import NO_ENVIRONMENT, MachineError, MachineSpec
from unbroken.rehearsal.nodes import enter, orphans
from unbroken.rehearsal.nodes.cgroups import CgroupTree
from unbroken.rehearsal.nodes.network import Network

_INIT = Path(__file__).resolve().parent / "init.sh"
_NAMESPACES = "--mount --propagation slave --uts --ipc --net --pid --fork --kill-child".split()
_FILE_TIMEOUT_SECONDS = 30.0
_END_TIMEOUT_SECONDS = 10.0
_POLL_SECONDS = 0.03
_MISSING = 44
_PUT = """set -eu
mkdir -p "${1%/*}/"
beside=$1.put.$$
cat >"$beside"
chmod "$2" "$beside"
[ ! -e "$1" ] || chown --reference="$1" "$beside"
mv -f "$beside" "$1"
"""
_GET = f'[ -e "$1" ] || exit {_MISSING}; exec cat "$1"'


@dataclass(frozen=True)
class Place:
    """Where a machine lives, and the shared things it is plugged into."""

    directory: Path
    """Its own directory; an overlay's upper and work directories and mount point are below it."""
    lustre: Path
    network: Network
    cgroups: CgroupTree
    hierarchies: Sequence[str]
    link: str
    """Name of its cable at the switch; also of its control groups."""
    efa_interfaces: int
    nvme_mib: int
    """What the emulated NVMe may really hold; it is memory."""

    ebs: Path | None
    """A directory that plays the second EBS volume: kept over a reboot, gone with the machine."""

    @property
    def root(self) -> Path:
        """The machine's root directory, as the server sees it before boot."""
        return self.directory / "root"


class NamespaceMachine:
    """A machine in namespaces (``Machine`` of the seams). Thread-safe, but for two boots at once."""

    def __init__(self, spec: MachineSpec, place: Place) -> None:
        self.spec = spec
        self._place = place
        self._process: subprocess.Popen[str] | None = None
        self._pid = 0

    @property
    def pid(self) -> int:
        """Process id of its init in the server's PID namespace; 0 while it is off."""
        return self._pid

    def boot(self, timeout: float) -> None:
        """Start systemd and return when all units are up; raises MachineError after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        self._start()
        while self._state() not in ("running", "degraded"):
            if not self.alive():
                raise MachineError(f"{self.spec.name}: its init ended while booting: {self._console()}")
            if time.monotonic() > deadline:
                state = self._state()
                raise MachineError(f"{self.spec.name}: systemd is not up after {timeout:.0f} s: {state}")
            time.sleep(_POLL_SECONDS)

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a whole file, replacing it in one step; a file that was there keeps its owner."""
        result = self._shell(_PUT, path, f"{mode:o}", data=data)
        if result.returncode != 0:
            raise MachineError(f"{self.spec.name}: cannot write {path}: {result.stderr.decode().strip()}")

    def get(self, path: str) -> bytes:
        """Read a whole file; raises FileNotFoundError."""
        result = self._shell(_GET, path)
        if result.returncode == _MISSING:
            raise FileNotFoundError(f"{self.spec.name}:{path}")
        if result.returncode != 0:
            raise MachineError(f"{self.spec.name}: cannot read {path}: {result.stderr.decode().strip()}")
        return result.stdout

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str = "/",
        env: Mapping[str, str] = NO_ENVIRONMENT,
        stdout_path: str | None = None,
    ) -> CompletedProcess[str]:
        """Run a program as root inside and wait; raises subprocess.TimeoutExpired, having killed it.

        The image's /etc/environment is in its environment, HOME is not.
        """
        inside = [*self._inside(), *enter.wrapped(argv, cwd, env, stdout_path)]
        result = _finish(inside, None, timeout)
        out, err = (part.decode(errors="replace") for part in (result.stdout, result.stderr))
        return CompletedProcess(list(argv), result.returncode, out, err)

    def alive(self) -> bool:
        """Whether its init runs."""
        return self._process is not None and self._process.poll() is None

    def reboot(self) -> None:
        """End all its processes and boot again on the same root; NVMe comes back empty."""
        self._end()
        self.boot(timeout=60.0)

    def power_off(self) -> None:
        """Cut its link, then kill its init, so that its peers hear nothing. Safe on a dead machine."""
        self._end()

    def discard(self) -> None:
        """Power off and free its root file system. Safe to call twice."""
        self._end()
        for point in (self._place.root, self._place.directory):
            subprocess.run(["umount", "-l", str(point)], capture_output=True, check=False)
        with contextlib.suppress(OSError):
            self._place.directory.rmdir()

    def _start(self) -> None:
        place, spec = self._place, self.spec
        init = ["sh", str(_INIT), str(place.root), spec.name, str(place.lustre)]
        init += [str(value) for value in (spec.nvme_gib, place.nvme_mib, spec.gpus, place.efa_interfaces)]
        with (place.directory / "console").open("ab") as console:
            self._process = subprocess.Popen(
                ["unshare", *_NAMESPACES, *init, " ".join(place.hierarchies), str(place.ebs or "")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=console,
                text=True,
                start_new_session=True,
            )
        self._pid = self._announced(self._process)
        place.cgroups.join(place.link, self._pid)
        place.network.connect(self._pid, place.link, spec.address, spec.prefix_len, spec.gateway)
        with contextlib.suppress(BrokenPipeError), contextlib.closing(_pipe(self._process.stdin)) as go:
            go.write("go\n")

    def _announced(self, process: subprocess.Popen[str]) -> int:
        """The pid that init tells, which is the one this process sees."""
        with contextlib.closing(_pipe(process.stdout)) as answer:
            line = answer.readline()
        if not line.strip().isdigit():
            raise MachineError(f"{self.spec.name}: its namespaces cannot be made: {self._console()}")
        return int(line)

    def _console(self) -> str:
        text = (self._place.directory / "console").read_text(errors="replace").strip()
        return " / ".join(text.splitlines()[-4:]) or "it said nothing"

    def _state(self) -> str:
        # No full entry yet: /proc/<pid>/root becomes the node's own only when init has changed root.
        argv = [*enter.from_server(self._pid), "systemctl", "is-system-running"]
        result = subprocess.run(argv, capture_output=True, text=True, check=False)
        return result.stdout.strip() or result.stderr.strip()

    def _inside(self) -> list[str]:
        pid = self._pid  # read once: another thread may power the machine off
        if pid and self.alive():
            return enter.from_server(pid)
        if self._process is None:
            return ["chroot", str(self._place.root)]
        raise MachineError(f"{self.spec.name} is powered off")

    def _shell(self, script: str, *args: str, data: bytes = b"") -> CompletedProcess[bytes]:
        return _finish([*self._inside(), "/bin/sh", "-c", script, "sh", *args], data, _FILE_TIMEOUT_SECONDS)

    def _end(self) -> None:
        if self._process is None or self._pid == 0:
            return
        self._place.network.cut(self._place.link)
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        deadline = time.monotonic() + _END_TIMEOUT_SECONDS
        while self._process.poll() is None:
            orphans.reap()
            if time.monotonic() > deadline:
                raise MachineError(f"{self.spec.name}: its processes did not end")
            time.sleep(_POLL_SECONDS)
        self._pid = 0
        self._place.cgroups.remove(self._place.link)


def _pipe(end: IO[str] | None) -> IO[str]:
    if end is None:
        raise ValueError("the process was started without this pipe")
    return end


def _finish(argv: Sequence[str], data: bytes | None, timeout: float) -> CompletedProcess[bytes]:
    """Run to the end; on a timeout kill the process group, which reaches into the node's PID namespace."""
    source = subprocess.DEVNULL if data is None else subprocess.PIPE
    with subprocess.Popen(
        argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(data, timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        return CompletedProcess(list(argv), process.returncode, out, err)
