"""The base layer: Debian 12 with Slurm, MariaDB and systemd, made by debootstrap.

Nothing of ours is in it; ``image`` lies on top.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from unbroken.rehearsal.nodes.cache import Progress, RootFsError, digest

SUITE = "bookworm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_VERSION = "1"  # raise it when this module builds something else from the same list
SIZE_MIB = 750
DOWNLOAD_MIB = 190
PACKAGES = (
    "systemd systemd-sysv dbus munge python3 "
    "slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins slurm-wlm-mysql-plugin mariadb-server "
    "openssh-server openssh-client libpam-slurm-adopt ca-certificates "
    "hostname iproute2 iputils-ping kmod less procps sudo util-linux util-linux-extra "
    "gcc libc6-dev libslurm-dev"  # the SPANK plugin is compiled inside
).split()

# It ends with us, and its mounts with it, so that a killed build leaves nothing mounted in the cache.
_CONTAINED = "setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child".split()
_UNNEEDED = (
    "var/cache/apt/archives",
    "var/lib/apt/lists",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
)
_SOURCES = ("etc/apt/sources.list", "etc/apt/sources.list.d")
_ONE_LINE = re.compile(rf"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+{SUITE}\s", re.MULTILINE)
_DEB822 = re.compile(rf"^URIs:\s*(\S+)[^\n]*\n(?:[^\n]+\n)*?Suites:[^\n]*\b{SUITE}(?:\s|$)", re.MULTILINE)


def recipe() -> str:
    """What names the layer."""
    return digest(_VERSION, SUITE, *PACKAGES)


def mirror(env: Mapping[str, str], root: Path = Path("/")) -> str | None:
    """The archive to install from: ``UNBROKEN_DEBIAN_MIRROR``, else the one this host uses for that suite.

    None leaves the choice to debootstrap.
    """
    if env.get("UNBROKEN_DEBIAN_MIRROR"):
        return env["UNBROKEN_DEBIAN_MIRROR"]
    for source in _source_files(root):
        text = source.read_text(errors="replace")
        found = _ONE_LINE.search(text) or _DEB822.search(text)
        if found:
            return found.group(1)
    return None


def _source_files(root: Path) -> list[Path]:
    listed = [root / _SOURCES[0], *sorted((root / _SOURCES[1]).glob("*"))]
    return [path for path in listed if path.is_file()]


def build(into: Path, progress: Progress) -> None:
    """Install the base system into an empty directory, as root; raises RootFsError."""
    program = shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise RootFsError(
            "debootstrap is not installed; it makes the root file system of the nodes\n\n"
            "hint: apt-get install debootstrap"
        )
    if not Path(KEYRING).is_file():
        raise RootFsError(
            f"{KEYRING} is missing; without it nobody knows whose packages the nodes get\n\n"
            "hint: apt-get install debian-archive-keyring"
        )
    options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
    options += [f"--keyring={KEYRING}", "--force-check-gpg"]
    chosen = mirror(os.environ)
    _follow([*_CONTAINED, program, *options, SUITE, str(into), *([chosen] if chosen else [])], progress)
    _trim(into)


def _follow(argv: list[str], progress: Progress) -> None:
    """Run debootstrap, telling what it does now and then; its last words go into the error."""
    last: list[str] = []
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_environment()
    ) as process:
        for count, line in enumerate(process.stdout or ()):
            last = [*last[-4:], line.strip()]
            if count % 60 == 0:
                progress(f"debootstrap: {line.strip().removeprefix('I: ')}")
    if process.returncode != 0:
        raise RootFsError(
            f"debootstrap failed with code {process.returncode}: {' / '.join(last)}\n\n"
            "hint: set UNBROKEN_DEBIAN_MIRROR to a Debian archive this machine can reach"
        )


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    return {**kept, "PATH": path, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}


def _trim(root: Path) -> None:
    """Drop what no node needs, and the secrets that must differ from cluster to cluster."""
    for name in _UNNEEDED:
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir(parents=True)
    for secret in [root / "etc/munge/munge.key", *(root / "etc/ssh").glob("ssh_host_*")]:
        secret.unlink(missing_ok=True)
