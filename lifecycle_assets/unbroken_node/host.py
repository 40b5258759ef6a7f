"""The one seam between the steps and the machine: files below a root, programs, names, ports and time.

Tests put a folder in place of the root and a fake in place of the programs. Whatever a step does to the
machine, it does through a Host.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from unbroken_node.errors import CommandFailed, DeadlineExceeded

POLL_SECONDS = 0.1
COMMAND_SECONDS = 30.0
# Slurm's programs are in the image's own folder, which is on no service's PATH.
SEARCH_PATH = "/opt/slurm/bin:/opt/slurm/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Result:
    """How a program ended."""

    code: int
    stdout: str = ""
    stderr: str = ""

    @property
    def reason(self) -> str:
        """The last words of the program, for an error message."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return " / ".join(line.strip() for line in lines[-3:]) or "it said nothing"


Runner = Callable[[Sequence[str], float, "str | None"], Result]


def run_program(argv: Sequence[str], timeout: float, stdin: str | None) -> Result:
    """Run a program for at most `timeout` seconds; raises CommandFailed if it cannot be run to its end."""
    environment = {**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8"}
    environment.setdefault("HOME", "/root")
    try:
        done = subprocess.run(
            argv,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"`{' '.join(argv)}` did not end within {timeout:g} s") from None
    except OSError as error:
        raise CommandFailed(f"`{argv[0]}` cannot be run: {error.strerror}") from None
    return Result(done.returncode, done.stdout, done.stderr)


class Host:
    """This machine, or in tests a folder that stands for one."""

    def __init__(self, root: Path = Path("/"), runner: Runner = run_program) -> None:
        self.root = root
        self._runner = runner
        self._secrets: list[str] = []

    def keep_secret(self, text: str) -> None:
        """Never let this text reach the log."""
        self._secrets.append(text)

    def redact(self, text: str) -> str:
        """Return the text without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text

    def is_root(self) -> bool:
        """Tell whether this process may change the machine."""
        return os.geteuid() == 0

    # Programs

    def run(
        self,
        *argv: str,
        timeout: float = COMMAND_SECONDS,
        stdin: str | None = None,
        accept: Sequence[int] = (0,),
    ) -> Result:
        """Run a program; raises CommandFailed unless its exit code is accepted. `stdin` is never shown."""
        result = self._runner(argv, timeout, stdin)
        if result.code not in accept:
            raise CommandFailed(f"`{' '.join(argv)}` ended with {result.code}: {result.reason}")
        return result

    def succeeds(self, *argv: str, timeout: float = COMMAND_SECONDS) -> bool:
        """Tell whether a program ends well; one that cannot be run, or hangs, does not."""
        try:
            return self._runner(argv, timeout, None).code == 0
        except CommandFailed:
            return False

    # Files

    def path(self, name: str) -> Path:
        """Return where an absolute path of the node lies."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str | None:
        """Return a file's text, or None where there is none."""
        with contextlib.suppress(FileNotFoundError):
            return self.path(name).read_text(encoding="utf-8")
        return None

    def write(self, name: str, text: str, mode: int = 0o644, owner: str | None = None) -> None:
        """Put a file in place at once: whole, with its mode and owner (`user:group`), or not at all."""
        path = self.path(name)
        with self.temporary(path) as new:
            new.write_text(text, encoding="utf-8")
            if owner is not None:
                self.run("chown", owner, str(new))
            new.chmod(mode)
            with new.open("rb") as file:
                os.fsync(file.fileno())
            new.replace(path)

    @contextlib.contextmanager
    def temporary(self, path: Path) -> Iterator[Path]:
        """Yield an empty file beside `path`, readable by its owner alone, and remove it if it is left."""
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    def mode(self, name: str) -> int:
        """Return a file's permission bits."""
        return self.path(name).stat().st_mode & 0o7777

    def owner(self, name: str) -> str:
        """Return a file's owner and group, by number (`1000:1000`)."""
        return self.run("stat", "--format=%u:%g", str(self.path(name))).stdout.strip()

    def owner_names(self, name: str) -> str:
        """Return a file's owner and group, by name (`slurm:slurm`)."""
        return self.run("stat", "--format=%U:%G", str(self.path(name))).stdout.strip()

    # Network and time

    def hostname(self) -> str:
        """Return the short host name."""
        return socket.gethostname().partition(".")[0]

    def resolves(self, name: str) -> bool:
        """Tell whether a host name has an address."""
        with contextlib.suppress(OSError, UnicodeError):  # the second is what a malformed name raises
            return bool(socket.getaddrinfo(name, None))
        return False

    def answers(self, address: str, port: int) -> bool:
        """Tell whether something accepts connections at a TCP port."""
        with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=2):
            return True
        return False

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)

    def wait(
        self,
        what: str,
        ready: Callable[[], bool],
        seconds: float,
        *,
        found: Callable[[], str] = lambda: "",
        poll: float = POLL_SECONDS,
    ) -> None:
        """Poll until `ready`; after `seconds` raise DeadlineExceeded naming `what` and what was found."""
        deadline = self.monotonic() + seconds
        while not ready():
            if self.monotonic() >= deadline:
                last = found()
                raise DeadlineExceeded(f"waited {seconds:g} s for {what}" + (f": {last}" if last else ""))
            self.sleep(poll)
