"""What FSx does not do to a file system that is there, and CloudFormation would only tell after trying."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unbroken.catalog.cloudformation import FILE_SYSTEM
from unbroken.ops.diff.changes import Change, Versions

Told = tuple[str, str, str]
"""What, why, and one way out."""


def refused(versions: Versions, changes: list[Change]) -> Iterator[Told]:
    """Every change in place that FSx refuses. Source: API reference, UpdateFileSystem."""
    in_place = {change.key for change in changes if change.action == "change"}
    for area, name, old, new in versions.kept():
        if old["Type"] == FILE_SYSTEM and (area, name) in in_place:
            yield from _of_one(f"the file system {name} ({area})", old["Properties"], new["Properties"])


def _of_one(noun: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Told]:
    before, after = (int(version.get("StorageCapacity") or 0) for version in (old, new))
    if before and after and after < before:
        what, way_out = f"{noun} would shrink from {before} to {after} GiB", f"keep at least {before} GiB"
        yield what, "FSx only lets it grow", way_out
    efa = [bool(version.get("LustreConfiguration", {}).get("EfaEnabled")) for version in (old, new)]
    if efa[0] != efa[1]:
        why = "FSx has no call for it on a file system that is there"
        yield f"{noun} would be {'with' if efa[1] else 'without'} EFA", why, "undo that in the cluster file"
