"""What a rehearsal leaves when its server is killed: cgroup directories. The kernel removes all the rest.

Which rehearsals are dead is known to the caller, and so are their state folders.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from unbroken.rehearsal.hyperpod.machines import MachineError
from unbroken.rehearsal.nodes import cgroups

_TIMEOUT_SECONDS = 30.0


def sweep_id(rehearsal: str) -> list[str]:
    """Remove the control groups of a dead rehearsal; returns what could not be removed. Needs root.

    The hierarchies are mounted in a mount namespace that ends with the call, so it works on hosts that mount
    them elsewhere or not at all.
    """
    argv = ["unshare", "--mount", sys.executable, "-m", __spec__.name, rehearsal]
    result = subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    if result.returncode != 0:
        return [f"cgroups of {rehearsal}: {result.stderr.strip() or 'could not look'}"]
    return result.stdout.splitlines()


def _remove(rehearsal: str) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="unbroken-sweep-") as where:
        try:
            _mount_all(Path(where))
            found = [path for path in cgroups.find(Path(where)) if path.name == cgroups.PREFIX + rehearsal]
            cgroups.remove(found)
            return [str(path.relative_to(where)) for path in found if path.exists()]
        finally:
            for point in Path(where).iterdir():
                subprocess.run(["umount", "-l", str(point)], capture_output=True, check=False)


def _mount_all(where: Path) -> None:
    """Every hierarchy that may hold a rehearsal's groups, whichever version its nodes had.

    No v1 hierarchy on a host without: the mount would make one there.
    """
    cgroups.mount(where, "v2")
    if cgroups.version(environ={}) != "v2":
        cgroups.mount(where, "v1")


def main() -> int:
    """Sweep one rehearsal in this mount namespace and print what is left."""
    try:
        left = _remove(sys.argv[1])
    except MachineError as error:
        print(error, file=sys.stderr)
        return 2
    for path in left:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
