"""The cache of file system layers: named by the hash of their recipe, built aside, renamed when whole.

What goes into a layer is not here (``debian``, ``wheels``, ``image``).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

Progress = Callable[[str], None]
"""Takes one line of progress for a person."""

_ASIDE = ".building-"


class RootFsError(Exception):
    """The root file system cannot be built; the message says why and names one way out."""


def directory(env: Mapping[str, str]) -> Path:
    """Where layers are kept: ``UNBROKEN_CACHE``, else ``/var/cache/unbroken``."""
    return Path(env.get("UNBROKEN_CACHE") or "/var/cache/unbroken")


def digest(*parts: str | bytes) -> str:
    """Twelve hexadecimal digits that name a recipe."""
    summary = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        summary.update(len(data).to_bytes(8, "big") + data)
    return summary.hexdigest()[:12]


def tree_digest(root: Path) -> str:
    """Digest of every file below ``root``: name, execute bit, content or link target."""
    parts: list[str | bytes] = []
    for path in sorted(p for p in root.rglob("*") if "__pycache__" not in p.parts):
        if path.is_symlink():
            parts += [f"{path.relative_to(root)} ->", str(path.readlink())]
        elif path.is_file():
            executable = bool(path.stat().st_mode & 0o111)
            parts += [f"{path.relative_to(root)} {executable:d}", path.read_bytes()]
    return digest(*parts)


@contextlib.contextmanager
def locked(cache: Path, progress: Progress) -> Iterator[None]:
    """Hold the cache for one builder at a time; a second one waits and says so."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another process is building the root file system; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def require_space(cache: Path, needed_mib: int) -> None:
    """Raise RootFsError when the cache's disk has less than ``needed_mib`` MiB free."""
    cache.mkdir(parents=True, exist_ok=True)
    free_mib = shutil.disk_usage(cache).free >> 20
    if free_mib < needed_mib:
        raise RootFsError(
            f"{cache} has {free_mib} MiB free; the root file system of the nodes needs {needed_mib} MiB\n\n"
            "hint: free some space there, or set UNBROKEN_CACHE to a directory on a larger disk"
        )


def require_layers(cache: Path) -> None:
    """Raise RootFsError when the cache lies on an overlay (a container), where layers cannot be made."""
    cache.mkdir(parents=True, exist_ok=True)
    argv = ["stat", "--file-system", "--format=%T", str(cache)]
    kind = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    if kind == "overlayfs":
        raise RootFsError(
            f"{cache} lies on an overlay file system, where the nodes' root file system cannot be built\n\n"
            f"hint: start the container with a volume there (docker run -v unbroken:{cache} ...)"
        )


def layer(cache: Path, name: str, build: Callable[[Path], None]) -> Path:
    """Return the layer ``name``; when it is not there, ``build`` fills a directory aside, renamed at the end.

    Call it while holding ``locked``: whatever lies aside then was left by a build that was killed.
    """
    final = cache / name
    if final.is_dir():
        return final
    for left in cache.glob(f"{_ASIDE}*"):
        shutil.rmtree(left)
    aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=cache))
    aside.chmod(0o755)
    try:
        build(aside)
        aside.rename(final)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return final
