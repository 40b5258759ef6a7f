"""Emulated FSx: a size-capped tmpfs a file system; nodes bind it with ``mount -t lustre`` or ``-t nfs``.

The node's side is ``image/usr/sbin/mount.lustre`` and ``mount.nfs``. It is memory on one machine;
/proc/mounts says ``tmpfs`` with the right source; nothing of the file systems' own behaviour is emulated.
"""

from __future__ import annotations

import re
import subprocess
import threading
from pathlib import Path

from unbroken.rehearsal.hyperpod.machines import MachineError

DEFAULT_SIZE_MIB = 1024
_ID = re.compile(r"fs-[0-9a-z-]+")


class Lustre:
    """The file systems of one rehearsal, below a shared mount, so that running nodes see later ones too."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self._lock = threading.Lock()
        where.mkdir(parents=True, exist_ok=True)
        _mount("-t", "tmpfs", "-o", "size=1m,mode=755", "lustre", str(where))
        _mount("--make-shared", str(where))

    def attach(self, file_system_id: str, source: str, size_mib: int) -> None:
        """Make a file system mountable from ``source``, what ``mount`` is asked for. Safe to repeat."""
        if not _ID.fullmatch(file_system_id):
            raise MachineError(f"{file_system_id} is not the id of a file system")
        with self._lock:
            point = self.where / file_system_id
            if point.exists():
                return
            point.mkdir()
            size = f"mode=755,size={size_mib or DEFAULT_SIZE_MIB}m"
            _mount("-t", "tmpfs", "-o", size, source, str(point))


def _mount(*args: str) -> None:
    result = subprocess.run(["mount", *args], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise MachineError(f"mount {' '.join(args)}: {result.stderr.strip()}")
