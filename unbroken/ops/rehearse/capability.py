"""Can this machine run nodes in namespaces? If not, what is missing, and how to get the whole rehearsal."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("unshare", "nsenter", "mount", "ip")
PROBE_SECONDS = 10.0

LEFT_OUT = [
    "the nodes: no systemd, no Slurm; the lifecycle bundle is fetched, verified and compiled, not run",
    "the lost node and its replacement: a rank of a local run is killed instead",
]
WAYS_TO_THE_WHOLE = [
    "be root (or have sudo) on Debian 12 or Ubuntu 22.04/24.04; a virtual machine will do",
    "have cgroup v1 there: boot with systemd.unified_cgroup_hierarchy=0 on the kernel's command line",
    "or, on such a machine, a container: docker run --privileged --cgroupns=private "
    "-v unbroken:/var/cache/unbroken -it debian:12",
]


@dataclass(frozen=True)
class Capability:
    """Whether nodes can be had, and if not, why; each reason a few words."""

    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether the whole rehearsal can run."""
        return not self.missing


def probe(
    *,
    system: str = platform.system(),
    uid: int | None = None,
    which: Callable[[str], str | None] = shutil.which,
    run: Callable[[list[str]], str] | None = None,
    cgroup: Path = Path("/sys/fs/cgroup"),
) -> Capability:
    """Look at this machine; nothing is changed on it."""
    if system != "Linux":
        return Capability((f"this is {system}, and nodes need Linux namespaces",))
    if (os.geteuid() if uid is None else uid) != 0:
        return Capability(("this is not root, and nodes need namespaces, mounts and cgroups",))
    missing = [f"{tool} is not installed" for tool in TOOLS if which(tool) is None]
    if missing:
        return Capability(tuple(missing))
    problem = (run or _try)(_NAMESPACES)
    missing += [f"namespaces cannot be made here: {problem}"] if problem else []
    kind = cgroup_kind(cgroup)
    missing += [] if kind == "v1" else [_CGROUP_REASONS[kind]]
    return Capability(tuple(missing))


_NAMESPACES = [
    *("unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"),
    *("sh", "-c", "mount -t tmpfs none /tmp && ip link set lo up"),
]
_CGROUP_REASONS = {
    "v2": "this host has cgroup v2 only, on which nodes are untried",
    "none": "cgroups are not mounted at /sys/fs/cgroup",
}


def cgroup_kind(root: Path) -> str:
    """`v1` (also hybrid), `v2` or `none`, by what is mounted."""
    if (root / "cgroup.controllers").exists():
        return "v2"
    return "v1" if (root / "freezer").is_dir() else "none"


def _try(argv: list[str]) -> str:
    """Empty if the command works, else its last words."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    words = (done.stderr or done.stdout).strip().splitlines()
    return "" if done.returncode == 0 else (words[-1] if words else f"exit code {done.returncode}")
