"""What must be there before anything starts: disk, node, cdk, packages. A lack is one sentence."""

from __future__ import annotations

import shutil
from pathlib import Path

from unbroken.ops.errors import CannotRun
from unbroken.ops.tools import lacking

STATE_FREE_MIB = 1500
"""Disk that a rehearsal's cloud assembly, logs and embedded S3 may take, with room to spare."""
OUT_FREE_MIB = 50
PACKAGES = ("aws_cdk", "ministack", "cfnlint")


def require(root: Path, state: Path, out: Path) -> None:
    """Raise CannotRun with everything that is missing."""
    problems = [
        *_disk(state, STATE_FREE_MIB),
        *_disk(out, OUT_FREE_MIB),
        *lacking(root, PACKAGES),
    ]
    if problems:
        raise CannotRun("; ".join(message for message, _ in problems), problems[0][1])


def _disk(folder: Path, needed_mib: int) -> list[tuple[str, str]]:
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    free_mib = shutil.disk_usage(existing).free // 2**20
    if free_mib >= needed_mib:
        return []
    return [
        (
            f"{existing} has {free_mib} MiB free, and a rehearsal needs {needed_mib} MiB there",
            "free some space, or set UNBROKEN_STATE and --out to folders on a larger disk",
        )
    ]
