"""90-training: the training code is on the shared file system, whole, under the hash of its content.

The controller fetches it aside and renames it, so no job ever sees half of it. `current` points to the
version that was deployed last; a job that runs keeps the folder it started from.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from unbroken_node import mounts
from unbroken_node.errors import NodeError
from unbroken_node.host import Host
from unbroken_node.node import CONTROLLER, Node
from unbroken_node.step import Step

SUMS = "SHA256SUMS"
FETCH_SECONDS = 600.0


def check(host: Host, node: Node) -> str | None:
    """The deployed version is there, proven by its checksums, and current."""
    problem = mounts.problem_at(host, node, node.settings.training_root)
    if problem is not None:
        return problem
    folder, name = host.path(node.settings.training_root), node.deployed.training_version
    problem = content_problem(folder / name, name)
    if problem is not None:
        return f"{node.settings.training_root}/{name}: {problem}"
    link = folder / "current"
    if not link.is_symlink() or str(link.readlink()) != name:
        return f"{node.settings.training_root}/current does not point to {name}"
    return None


def apply(host: Host, node: Node) -> None:
    """Fetch, verify, rename, and point `current` to it."""
    root = mounts.shared(host, node, node.settings.training_root)
    root.mkdir(mode=0o755, exist_ok=True)
    name = node.deployed.training_version
    if content_problem(root / name, name) is not None:
        _fetch(host, node, root, name)
    _point(root, name)


def content_problem(folder: Path, name: str) -> str | None:
    """Return None if a folder holds exactly what its name says, else what is wrong."""
    sums = folder / SUMS
    if not sums.is_file():
        return f"no {SUMS}"
    text = sums.read_bytes()
    if not hashlib.sha256(text).hexdigest().startswith(name):
        return f"its {SUMS} is that of another version"
    expected = {
        file: digest for digest, _, file in (line.partition("  ") for line in text.decode().splitlines())
    }
    for file, digest in expected.items():
        path = folder / file
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            return f"{file} is missing or differs"
    more = _names(folder) - expected.keys() - {SUMS}
    return f"{min(more)} is not of this version" if more else None


def _names(folder: Path) -> set[str]:
    """All files, but for what Python compiles beside a program that root runs."""
    inside = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {path.relative_to(folder).as_posix() for path in inside if path.parent.name != "__pycache__"}


def _fetch(host: Host, node: Node, root: Path, name: str) -> None:
    aside = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=root))
    try:
        source, region = node.deployed.training_uri, node.settings.region
        host.run(
            *("aws", "s3", "cp", "--recursive", "--only-show-errors", "--region", region, source, str(aside)),
            timeout=FETCH_SECONDS,
        )
        problem = content_problem(aside, name)
        if problem is not None:
            raise NodeError(f"{source} did not arrive whole: {problem}")
        _open_to_all(aside)
        _replace(root / name, aside)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _replace(target: Path, new: Path) -> None:
    """Put a folder in place of another, which cannot be done in one move unless the target is free."""
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=".old.", dir=target.parent))
        target.rename(old / target.name)
        new.rename(target)
        shutil.rmtree(old)
    else:
        new.rename(target)


def _open_to_all(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def _point(root: Path, name: str) -> None:
    new = root / ".current.new"
    new.unlink(missing_ok=True)
    new.symlink_to(name)
    new.replace(root / "current")


STEP = Step("90-training", check, apply, frozenset({CONTROLLER}))
