"""Programs, files and ports, each with a limit and with words for what did not work."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from slurm_commands import run

UNITS = Path("/etc/systemd/system")
POLL_SECONDS = 0.1


class SetupFailed(Exception):
    """This node could not be configured."""


def must(*argv: str, timeout: float = 60.0) -> str:
    """Run a program to its good end and return what it printed; raises SetupFailed."""
    done = run(argv, timeout=timeout)
    if not done.ok:
        raise SetupFailed(f"{' '.join(argv)}: {done.err or done.out.strip() or f'exit code {done.code}'}")
    return done.out


def wait(what: str, ready: Callable[[], bool], seconds: float, log: Path | None = None) -> None:
    """Poll until something holds; after so many seconds raise SetupFailed with a log's last line."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            lines = log.read_text(errors="replace").splitlines() if log and log.exists() else []
            said = f"; {log} ends: {lines[-1]}" if lines else ""
            raise SetupFailed(f"{what}: not within {seconds:.0f} s{said}")
        time.sleep(POLL_SECONDS)


def answers(address: str, port: int) -> bool:
    """Whether something accepts connections there."""
    try:
        socket.create_connection((address, port), timeout=2).close()
    except OSError:
        return False
    return True


def drop_in(unit: str, lines: Sequence[str]) -> None:
    """Add lines to a unit."""
    folder = UNITS / f"{unit}.d"
    folder.mkdir(exist_ok=True)
    (folder / "40-hyperpod.conf").write_text("\n".join(lines) + "\n")


def restarting(after: str = "") -> list[str]:
    """Lines for a daemon that comes back by itself, and at a boot waits for another unit."""
    order = [f"Wants={after}", f"After={after}"] if after else []
    return ["[Unit]", *order, "StartLimitIntervalSec=0", "[Service]", "Restart=on-failure", "RestartSec=1"]
