"""The file systems of the group's InstanceStorageConfigs, mounted now and at every boot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from host_setup.system import must

OPTIONS = {"lustre": "noatime,flock,_netdev", "nfs": "noatime,nfsvers=4.2,_netdev"}
TABLE = Path("/etc/fstab")


def mount_all(wanted: Sequence[Mapping[str, str]]) -> None:
    """Mount each where it belongs, an outer folder before one inside it."""
    for one in sorted(wanted, key=lambda item: item["path"]):
        options = OPTIONS[one["type"]]
        Path(one["path"]).mkdir(parents=True, exist_ok=True)
        must("mount", "-t", one["type"], "-o", options, one["source"], one["path"])
        with TABLE.open("a") as table:
            table.write(f"{one['source']} {one['path']} {one['type']} {options} 0 0\n")
