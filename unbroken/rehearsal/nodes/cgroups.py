"""The control groups of one rehearsal: in each hierarchy ``unbroken-<id>`` with a directory a node.

On a host with cgroup v1, also hybrid, that is one directory in each v1 hierarchy a node needs; on a host
with cgroup v2 only it is one in the single hierarchy. ``version`` decides which. A node sees its own
directory as the root (``init.sh``).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from unbroken.rehearsal.hyperpod.machines import MachineError

PREFIX = "unbroken-"
UNIFIED = "unified"
NEEDED = {"v1": ("systemd", "freezer"), "v2": (UNIFIED,)}
OPTIONAL = {"v1": ("memory",), "v2": ()}
FORCED = "UNBROKEN_CGROUP"
"""``v2`` asks for nodes with v2 alone: on a host that has no other, or, for tests, on a hybrid one."""


def version(root: Path = Path("/sys/fs/cgroup"), environ: Mapping[str, str] = os.environ) -> str:
    """What nodes get: ``v1`` (also on a hybrid host) or ``v2``; ``none`` where nothing is mounted."""
    forced = environ.get(FORCED)
    if forced in NEEDED:
        return forced
    if (root / "cgroup.controllers").exists():
        return "v2"
    return "v1" if (root / "freezer").is_dir() else "none"


def mount(where: Path, wanted: str) -> list[str]:
    """Mount a version's hierarchies below ``where`` in this mount namespace; the names of those there are.

    Raises MachineError where a needed one cannot be mounted.
    """
    there: list[str] = []
    for name in (*NEEDED[wanted], *OPTIONAL[wanted]):
        point = where / name
        point.mkdir(parents=True, exist_ok=True)
        argv = ["mount", *_arguments(name), "cgroup", str(point)]
        result = subprocess.run(argv, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            there.append(name)
        elif name in NEEDED[wanted]:
            raise MachineError(f"the cgroup hierarchy {name} cannot be mounted: {result.stderr.strip()}")
    return there


def _arguments(name: str) -> list[str]:
    if name == UNIFIED:
        return ["-t", "cgroup2"]
    return ["-t", "cgroup", "-o", "none,name=systemd" if name == "systemd" else name]


def own(name: str, table: Path = Path("/proc/self/cgroup")) -> str:
    """This process's own directory in a hierarchy, relative to its root; "" at the root or outside of it."""
    wanted = {"systemd": "name=systemd", UNIFIED: ""}.get(name, name)
    for line in table.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if wanted in controllers.split(","):
            return "" if path.startswith("/..") else path.strip("/")
    return ""


class CgroupTree:
    """Directories of one rehearsal, below those this process lives in, so that its limits keep holding.

    With v2 no controller reaches them there: a group with processes, as ours is, hands none on to the groups
    below it. Nodes do without; nothing of theirs is limited.
    """

    def __init__(self, where: Path, rehearsal: str) -> None:
        found = version()
        self.names = mount(where, "v1" if found == "none" else found)
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


def find(where: Path, depth: int = 8) -> list[Path]:
    """All directories of rehearsals in the hierarchies mounted below ``where``, at most ``depth`` deep."""
    found: list[Path] = []
    for hierarchy in where.iterdir():
        for path, names, _ in os.walk(hierarchy):
            found += [Path(path, name) for name in names if name.startswith(PREFIX)]
            deep = len(Path(path).relative_to(hierarchy).parts) >= depth
            names[:] = [] if deep else [name for name in names if not name.startswith(PREFIX)]
    return found
