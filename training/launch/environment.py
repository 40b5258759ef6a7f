"""Builds the ranks' Python on the shared file system: `python3 environment.py --root /fsx/unbroken`.

Run by a unit of the controller when the cluster comes up (step 95-environment), or by hand. Every package is
pinned with its hash in training/requirements.txt. The environment lies in a folder named after that file and
the Python, `env` points to the one that was finished last, and a job keeps the one it started from:

    /fsx/unbroken/env -> env-3f2a...      moved only when the folder is whole
    /fsx/unbroken/env-3f2a.../complete    the stamp, written last

One builder at a time, by a lock that all nodes see. A build that was killed goes on where it was: what pip
has installed stays, and what it has fetched is in .pip-cache. Without a way to a package index, put what
`pip download -r requirements.txt` fetches into /fsx/unbroken/wheelhouse. Standard library only, Python 3.10.

Exit codes: 0 built, or nothing to do; 1 not, with the reason; 3 another builder is at work.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

STAMP = "complete"
NEEDED_GIB = 15
"""The packages, about 7 GiB once installed, and what pip has fetched of them."""
REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements.txt"
_PROOF = "import torch, transformers, numpy, xxhash, yaml, safetensors, datasets; print(torch.__version__)"


class BuildError(RuntimeError):
    """Why there is no environment."""


class Busy(RuntimeError):
    """Another builder has the lock."""


def folder_name(requirements: bytes, python: str) -> str:
    """The folder of what these requirements make with this Python, such as 3.10."""
    return f"env-{hashlib.sha256(requirements + python.encode()).hexdigest()[:16]}"


def build(root: Path, requirements: Path, python: str = sys.executable, proof: str = _PROOF) -> Path:
    """The finished environment's folder, with `env` pointing to it. Raises BuildError and Busy."""
    root.mkdir(mode=0o755, parents=True, exist_ok=True)
    version = "{}.{}".format(*sys.version_info[:2])
    folder = root / folder_name(requirements.read_bytes(), version)
    with _lock(root / ".env.lock"):
        if not (folder / STAMP).is_file():
            _check_room(root)
            _make(folder, root, requirements, python)
            said = _run([str(folder / "bin" / "python3"), "-c", proof], "the new environment does not work")
            (folder / STAMP).write_text(said)
        _point(root / "env", folder.name)
    return folder


def _make(folder: Path, root: Path, requirements: Path, python: str) -> None:
    """Each of these may have been done before, and is done again without harm."""
    _need_ensurepip(python)
    _run([python, "-m", "venv", str(folder)], "no virtual environment")
    wheelhouse = root / "wheelhouse"
    source = ["--no-index", "--find-links", str(wheelhouse)] if wheelhouse.is_dir() else []
    pip = [
        str(folder / "bin" / "python3"),
        "-m",
        "pip",
        "install",
        "--no-input",
        "--disable-pip-version-check",
    ]
    cache = ["--cache-dir", str(root / ".pip-cache")]
    pinned = ["--require-hashes", "--only-binary=:all:", "-r", str(requirements)]
    _run([*pip, *cache, *source, *pinned], "packages are missing")


def _need_ensurepip(python: str) -> None:
    """Debian and Ubuntu have it in a package of its own."""
    if _works([python, "-c", "import ensurepip"]):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _run(["apt-get", "update", "-o", "Acquire::Retries=5"], "python3-venv is missing")
        command = ["apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]
        _run([*command, "python3-venv"], "python3-venv is missing")
        return
    raise BuildError("this Python has no ensurepip\n  hint: install python3-venv")


def _check_room(root: Path) -> None:
    free = shutil.disk_usage(root).free / 2**30
    if free < NEEDED_GIB:
        raise BuildError(f"{root} has {free:.1f} GiB free, and an environment takes {NEEDED_GIB} to build")


def _point(link: Path, name: str) -> None:
    """Move the link in one step. A folder in its place is somebody's own environment, and is left alone."""
    if link.is_dir() and not link.is_symlink():
        raise BuildError(
            f"{link} is a folder of somebody's own\n  hint: move it away, or set training.python"
        )
    new = link.with_name(f".{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(name)
    new.replace(link)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Held by this process alone, on all nodes: the shared file system is mounted with flock."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"{path}: another builder is at work") from None
        yield


def _works(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _run(command: Sequence[str], problem: str) -> str:
    """What a command prints; its errors go to the log as they come. Raises BuildError."""
    print(f"environment: {' '.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        said = " / ".join(done.stdout.strip().splitlines()[-3:])
        raise BuildError(f"{problem}: {command[0]} ended with {done.returncode}{': ' if said else ''}{said}")
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the controller's unit."""
    parser = argparse.ArgumentParser(prog="environment.py")
    parser.add_argument("--root", type=Path, required=True, help="folder on the shared file system")
    parser.add_argument("--requirements", type=Path, default=REQUIREMENTS, help="default: the trainer's own")
    options = parser.parse_args(arguments)
    try:
        print(f"environment: {build(options.root, options.requirements)} is complete")
    except Busy as error:
        print(f"environment: {error}", file=sys.stderr)
        return 3
    except (BuildError, OSError) as error:
        print(f"environment: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
