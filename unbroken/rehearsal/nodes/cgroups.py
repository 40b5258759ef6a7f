"""The control groups of one rehearsal: in each hierarchy ``unbroken-<id>`` with a directory a node.

cgroup v1 hierarchies, which Slurm's plugin for them needs. On a host with cgroup v2 the v1 freezer can
usually still be mounted and memory cannot; that road is untried. A node sees its own directory as the root
(``init.sh``).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from unbroken.rehearsal.hyperpod.machines import MachineError

PREFIX = "unbroken-"
NEEDED = ("systemd", "freezer")
OPTIONAL = ("memory",)


def mount(where: Path) -> list[str]:
    """Mount the hierarchies below ``where`` in this mount namespace; the names of those there are.

    Raises MachineError where a needed one cannot be mounted.
    """
    there: list[str] = []
    for name in (*NEEDED, *OPTIONAL):
        point = where / name
        point.mkdir(parents=True, exist_ok=True)
        options = "none,name=systemd" if name == "systemd" else name
        argv = ["mount", "-t", "cgroup", "-o", options, "cgroup", str(point)]
        result = subprocess.run(argv, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            there.append(name)
        elif name in NEEDED:
            raise MachineError(f"the cgroup hierarchy {name} cannot be mounted: {result.stderr.strip()}")
    return there


def own(name: str, table: Path = Path("/proc/self/cgroup")) -> str:
    """This process's own directory in a hierarchy, relative to its root; "" when it is the root."""
    wanted = "name=systemd" if name == "systemd" else name
    for line in table.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if wanted in controllers.split(","):
            return path.strip("/")
    return ""


class CgroupTree:
    """Directories of one rehearsal, below those this process lives in, so that its limits keep holding."""

    def __init__(self, where: Path, rehearsal: str) -> None:
        self.names = mount(where)
        self._roots = [where / name / own(name) / f"{PREFIX}{rehearsal}" for name in self.names]

    def join(self, node: str, pid: int) -> None:
        """Put a process into the directories of its node, making them."""
        for root in self._roots:
            directory = root / node
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "cgroup.procs").write_text(str(pid))

    def remove(self, node: str) -> None:
        """Remove a dead node's directories. Safe to repeat."""
        remove([root / node for root in self._roots])

    def close(self) -> None:
        """Remove the rehearsal's directories, whose processes must be dead."""
        remove(self._roots)


def remove(directories: Sequence[Path], timeout: float = 5.0) -> bool:
    """Remove trees of empty cgroups, waiting up to ``timeout`` seconds for the last processes to be gone."""
    deadline = time.monotonic() + timeout
    while not all([_remove_tree(directory) for directory in directories]):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _remove_tree(directory: Path) -> bool:
    for path, _, _ in os.walk(directory, topdown=False):
        with contextlib.suppress(OSError):  # still in use: the caller tries again
            Path(path).rmdir()
    return not directory.exists()


def find(where: Path, depth: int = 4) -> list[Path]:
    """All directories of rehearsals in the hierarchies mounted below ``where``, at most ``depth`` deep."""
    found: list[Path] = []
    for hierarchy in where.iterdir():
        for path, names, _ in os.walk(hierarchy):
            found += [Path(path, name) for name in names if name.startswith(PREFIX)]
            deep = len(Path(path).relative_to(hierarchy).parts) >= depth
            names[:] = [] if deep else [name for name in names if not name.startswith(PREFIX)]
    return found
