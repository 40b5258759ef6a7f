"""The top layer: the files of ``image/`` laid over Debian, and that tree's own set-up script run inside.

The programs and units in ``image/`` document themselves.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from unbroken.rehearsal.nodes.cache import Progress, digest, tree_digest
from unbroken.rehearsal.nodes.chroot import run_in

TREE = Path(__file__).resolve().parent / "image"
SETUP = "/opt/rehearsal/setup.sh"
SIZE_MIB = 20
_VERSION = "1"  # raise it when this module builds something else from the same tree


def recipe() -> str:
    """What names the layer."""
    return digest(_VERSION, tree_digest(TREE))


def build(into: Path, lower: list[Path], progress: Progress) -> None:
    """Copy the tree and run its set-up script on top of ``lower``."""
    progress("laying the emulated machine image over it")
    copy(TREE, into)
    run_in(lower, into, ["bash", SETUP])


def copy(tree: Path, into: Path) -> None:
    """Copy files and links; modes are 0755 for programs and directories and 0644 for the rest, owner root."""
    for source in sorted(tree.rglob("*")):
        if "__pycache__" in source.parts:
            continue
        target = into / source.relative_to(tree)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        elif source.is_dir():
            target.mkdir(exist_ok=True)
            target.chmod(0o755)
        else:
            shutil.copyfile(source, target)
            target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
