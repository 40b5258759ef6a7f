"""Many files onto a machine as one archive, since entering a machine costs more than the bytes."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

from unbroken.rehearsal.hyperpod.machines import Machine, MachineError

ARCHIVE = "/run/sagemaker-transfer.tar"
UNPACK = ("sh", "-c", f"tar -xf {ARCHIVE} -C / --no-same-owner && rm {ARCHIVE}")
"""The command that unpacks it on the machine; machines that run nothing know it by this value."""
_TIMEOUT_SECONDS = 30.0


def put_all(machine: Machine, files: Mapping[str, bytes], now: float) -> None:
    """Write files at absolute paths, mode 644, modified at ``now``; raises MachineError."""
    machine.put(ARCHIVE, packed(files, now))
    done = machine.run(UNPACK, timeout=_TIMEOUT_SECONDS)
    if done.returncode != 0:
        raise MachineError(f"{machine.spec.name}: its files could not be unpacked: {done.stderr.strip()}")


def packed(files: Mapping[str, bytes], now: float) -> bytes:
    """A tar archive of the files, relative to the root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(data), 0o644, int(now)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def unpacked(archive: bytes) -> dict[str, bytes]:
    """What ``packed`` packed."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {
            f"/{entry.name}": found.read()
            for entry in opened.getmembers()
            if (found := opened.extractfile(entry)) is not None
        }
