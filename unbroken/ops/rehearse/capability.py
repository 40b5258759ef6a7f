"""Can this machine run nodes in namespaces? If not, what is missing, and how to get the whole rehearsal."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from unbroken.rehearsal.nodes import cgroups, trial

TOOLS = ("unshare", "nsenter", "mount", "ip")
PROBE_SECONDS = 10.0

LEFT_OUT = [
    "the nodes: no systemd, no Slurm; the lifecycle bundle is fetched, verified and compiled, not run",
    "the lost node and its replacement: a rank of a local run is killed instead",
]
WAYS_TO_THE_WHOLE = [
    "be root (or have sudo) on Debian 12 or Ubuntu 22.04/24.04; a virtual machine will do",
    "where only cgroup v2 is there: systemd.unified_cgroup_hierarchy=0 on the kernel's command line, "
    f"or {cgroups.FORCED}=v2 to try the whole with it",
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
    cgroup: Callable[[], str] = cgroups.version,
    asked_for_v2: bool = os.environ.get(cgroups.FORCED) == "v2",
    boot: Callable[[], str] = trial.problem,
) -> Capability:
    """Look at this machine, and boot a node that is thrown away; nothing is changed on it.

    With cgroup v2 alone nodes are had only by those who ask: a lost node was not seen to come back there yet.
    """
    if system != "Linux":
        return Capability((f"this is {system}, and nodes need Linux namespaces",))
    if (os.geteuid() if uid is None else uid) != 0:
        return Capability(("this is not root, and nodes need namespaces, mounts and cgroups",))
    missing = [f"{tool} is not installed" for tool in TOOLS if which(tool) is None]
    if missing:
        return Capability(tuple(missing))
    problem = (run or _try)(_NAMESPACES)
    missing += [f"namespaces cannot be made here: {problem}"] if problem else []
    kind = cgroup()
    missing += [NO_CGROUPS] if kind == "none" else []
    missing += [V2_UNPROVEN] if kind == "v2" and not asked_for_v2 else []
    if not missing and (problem := boot()):
        missing.append(f"a node does not boot here, with cgroup {kind}: {problem}")
    return Capability(tuple(missing), (V2_HARDLY_TRIED,) if kind == "v2" and not missing else ())


_NAMESPACES = [
    *("unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"),
    *("sh", "-c", "mount -t tmpfs none /tmp && ip link set lo up"),
]
NO_CGROUPS = "cgroups are not mounted at /sys/fs/cgroup"
V2_UNPROVEN = "this host has cgroup v2 only, with which no whole rehearsal has passed yet"
V2_HARDLY_TRIED = (
    "nodes get cgroup v2 only, as asked; no whole rehearsal was tried on a host with v2 only, "
    "so should this one fail, --reduced is the way out"
)


def _try(argv: list[str]) -> str:
    """Empty if the command works, else its last words."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    words = (done.stderr or done.stdout).strip().splitlines()
    return "" if done.returncode == 0 else (words[-1] if words else f"exit code {done.returncode}")
