"""The two bundles that go to S3, each named by the hash of its content.

A bundle is a folder of plain files with SHA256SUMS, which lists every other file in it; the content hash
is taken over that list. Modes, times, umask and byte-code caches therefore never change a hash, and a node
can prove that it received what was rendered. S3 keeps neither modes nor links, so a link is refused.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from unbroken.config import ClusterConfig
from unbroken.render.errors import RenderError
from unbroken.render.job import job
from unbroken.render.node import node_json

SUMS = "SHA256SUMS"
HASH_LENGTH = 16
LIFECYCLE_ASSETS = "lifecycle_assets"
TRAINING = "training"
_CHECKOUT = Path(__file__).resolve().parents[2]
_CACHES = {"__pycache__", "node_modules"}
_TEXT = {".py", ".sh", ".conf", ".service", ".mount", ".json", ".j2"}


@dataclass(frozen=True)
class Bundle:
    """A rendered folder and the hash of its content (the last part of its S3 prefix)."""

    path: Path
    content_hash: str


def bundle(config: ClusterConfig, out: Path) -> Bundle:
    """Render what every node runs (lifecycle_assets and node.json) into the folder `out`.

    `out` is replaced if it holds an earlier bundle. Raises RenderError if it holds anything else, or if
    the checkout's files cannot travel through S3.
    """
    files = dict(_tree(_CHECKOUT / LIFECYCLE_ASSETS))
    files["node.json"] = node_json(config).encode()
    return _write(files, out)


def training_bundle(config: ClusterConfig, out: Path) -> Bundle:
    """Render the training package with its job.sbatch and job.yaml into the folder `out`.

    It has a hash of its own, so that a new trainer changes no node. Raises as bundle() does.
    """
    files = {f"{TRAINING}/{name}": data for name, data in _tree(_CHECKOUT / TRAINING)}
    files |= {name: text.encode() for name, text in job(config, None).items()}
    return _write(files, out)


def content_hash(sums: str) -> str:
    """Return the name of the bundle whose SHA256SUMS has this text."""
    return hashlib.sha256(sums.encode()).hexdigest()[:HASH_LENGTH]


def sums_text(files: Mapping[str, bytes]) -> str:
    """Return SHA256SUMS in the format of coreutils, sorted by path."""
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}" for name, data in sorted(files.items())]
    return "\n".join(lines) + "\n"


def _tree(root: Path) -> Iterator[tuple[str, bytes]]:
    if not root.is_dir():
        raise RenderError(f"{root} is not a folder", "run this from a checkout of the project")
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if _is_litter(name):
            continue
        if path.is_symlink():
            raise RenderError(f"{path} is a link, and S3 keeps no links", "put a plain file in its place")
        if path.is_file():
            yield name.as_posix(), _read(path)


def _is_litter(name: Path) -> bool:
    hidden = any(part.startswith(".") or part in _CACHES for part in name.parts)
    return hidden or name.suffix == ".pyc" or name.name.endswith("~")


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix in _TEXT and b"\r\n" in data:
        raise RenderError(
            f"{path} has Windows line ends, which break it on a node", f"sed -i 's/\\r$//' {path}"
        )
    return data


def _write(files: Mapping[str, bytes], out: Path) -> Bundle:
    _make_room(out)
    sums = sums_text(files)
    for name, data in {**files, SUMS: sums.encode()}.items():
        target = out / name
        _make_folder(target.parent, out)
        target.write_bytes(data)
        target.chmod(0o644)
    return Bundle(out, content_hash(sums))


def _make_room(out: Path) -> None:
    if out.exists():
        holds_other_things = not out.is_dir() or (any(out.iterdir()) and not (out / SUMS).is_file())
        if holds_other_things:
            raise RenderError(f"{out} exists and is not a bundle", "name a folder that does not exist yet")
        shutil.rmtree(out)
    out.mkdir(parents=True)
    out.chmod(0o755)


def _make_folder(folder: Path, out: Path) -> None:
    """Make a folder and its parents below `out`, mode 0755 whatever the umask."""
    for part in [*reversed(folder.relative_to(out).parents), folder.relative_to(out)]:
        (out / part).mkdir(exist_ok=True)
        (out / part).chmod(0o755)
