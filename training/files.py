"""Files that are there whole or not at all, also after a crash; directories for this user alone. Standard
library only.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from training.errors import JobError


def replace_bytes(path: Path, *blocks: bytes) -> None:
    """Write a file aside, flush it to the disk and rename it, so that readers see the old or the new one.

    The name aside is this writer's own on all nodes: processes of two nodes may have the same number.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with aside.open("wb") as file:
            for block in blocks:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """The same for a text."""
    replace_bytes(path, text.encode())


def flush_directory(path: Path) -> None:
    """Have the names in a directory on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def own_directory(path: Path) -> None:
    """Make a directory that only this user may write to, where others may make one too.

    Raises JobError where somebody was there first: a link, another user's directory, or one open to others.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise JobError(
            f"{path} is a link, another user's, or open to others", "remove it, or have it removed"
        )
