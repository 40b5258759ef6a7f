"""Does a node boot here? Tried, not guessed: one bare node, thrown away as soon as its systemd is up.

What runs on nodes, Slurm above all, is no part of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from unbroken.rehearsal.hyperpod.machines import MachineError
from unbroken.rehearsal.nodes import cache, rootfs
from unbroken.rehearsal.nodes.lab import spec
from unbroken.rehearsal.nodes.machines import NamespaceMachines

BOOT_SECONDS = 30.0
_TIMEOUT_SECONDS = 60.0
_NAMESPACES = "unshare --mount --pid --fork --kill-child --propagation private --".split()


def problem() -> str:
    """Why no node boots, in a line; empty where one does, or where no root file system is built yet.

    Needs root. A node takes well under a second; one that hangs is given up after a minute.
    """
    try:
        cache.require_layers(cache.directory(os.environ))
    except cache.RootFsError as error:  # in a container without a volume: reduced, not refused
        return str(error).splitlines()[0]
    if rootfs.cached() is None:
        return ""
    argv = [*_NAMESPACES, sys.executable, "-m", __spec__.name]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it is not up after {_TIMEOUT_SECONDS:.0f} s"
    words = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (words[-1] if words else f"exit code {done.returncode}")


def _boot(root: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="unbroken-trial-") as work:
        machines = NamespaceMachines(rootfs.layers(root), Path(work), f"trial-{os.urandom(3).hex()}")
        try:
            machines.create(spec(0)).boot(BOOT_SECONDS)
        finally:
            machines.close()


def main() -> int:
    """Boot one in these namespaces; 0 it did, 1 it did not."""
    root = rootfs.cached()
    if root is None:
        return 0
    try:
        _boot(root)
    except (MachineError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
