"""Machines that exist on paper only, for a rehearsal without root or namespaces.

Nothing of a node runs. The bundle is still read with the execution role evaluated (by the service); its
files are checked against SHA256SUMS, and its Python is compiled; the lifecycle log says that this is all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from subprocess import CompletedProcess

from unbroken.rehearsal.hyperpod.machines import NO_ENVIRONMENT, Database, MachineSpec
from unbroken.rehearsal.hyperpod.node_setup import SLURM_CONF
from unbroken.rehearsal.hyperpod.transfer import ARCHIVE, UNPACK, unpacked

SUMS_FILE = "SHA256SUMS"
NOT_RUN = "reduced rehearsal: nothing of this node runs; its bundle was checked, not executed"


class PaperMachine:
    """A machine that is a dictionary of files."""

    def __init__(self, spec: MachineSpec) -> None:
        self.spec = spec
        self.pid = 0
        self._files: dict[str, bytes] = {}
        self._on = False

    def boot(self, timeout: float) -> None:
        """At once."""
        self._on = True
        self._files.setdefault(SLURM_CONF, b"# reduced rehearsal: no Slurm runs\n")

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Keep the file."""
        self._files[path] = data

    def get(self, path: str) -> bytes:
        """A file kept before; raises FileNotFoundError."""
        try:
            return self._files[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str = "/",
        env: Mapping[str, str] = NO_ENVIRONMENT,
        stdout_path: str | None = None,
    ) -> CompletedProcess[str]:
        """Run nothing; for the lifecycle script (``bash <script>``) check the bundle in ``cwd`` instead."""
        if tuple(argv) == UNPACK:
            self._files |= unpacked(self._files.pop(ARCHIVE))
            return CompletedProcess(list(argv), 0, "", "")
        problems: list[str] = []
        if argv[0] == "bash":
            bundle = self._below(cwd)
            problems = [*_sums(bundle), *_compiled(bundle)]
        lines = [*problems, NOT_RUN]
        if stdout_path is not None:
            text = "".join(f"{line}\n" for line in lines).encode()
            self._files[stdout_path] = self._files.get(stdout_path, b"") + text
        return CompletedProcess(list(argv), 1 if problems else 0, "\n".join(lines), "")

    def alive(self) -> bool:
        """Whether it counts as running."""
        return self._on

    def reboot(self) -> None:
        """Nothing changes."""

    def power_off(self) -> None:
        """It counts as dead."""
        self._on = False

    def discard(self) -> None:
        """Forget its files."""
        self._on = False
        self._files.clear()

    def _below(self, folder: str) -> dict[str, bytes]:
        prefix = folder.rstrip("/") + "/"
        return {path[len(prefix) :]: data for path, data in self._files.items() if path.startswith(prefix)}


class PaperMachines:
    """Makes paper machines."""

    def create(self, spec: MachineSpec) -> PaperMachine:
        """A machine on paper."""
        return PaperMachine(spec)

    def attach_file_system(self, file_system_id: str, dns_name: str, mount_name: str, size_mib: int) -> None:
        """Nothing mounts anything here."""

    def attach_home(self, file_system_id: str, dns_name: str, size_mib: int) -> None:
        """Nothing mounts anything here."""

    def attach_database(self, database: Database, neighbour: MachineSpec) -> None:
        """Nobody asks a database here."""

    def close(self) -> None:
        """Nothing to end."""


def _sums(bundle: Mapping[str, bytes]) -> list[str]:
    """What is wrong with the bundle's checksums."""
    if SUMS_FILE not in bundle:
        return [f"{SUMS_FILE} is missing from the bundle"]
    listed = dict(_sum_line(line) for line in bundle[SUMS_FILE].decode().splitlines() if line.strip())
    return [
        f"{path}: {'missing' if path not in bundle else 'its checksum differs'}"
        for path, expected in sorted(listed.items())
        if path not in bundle or hashlib.sha256(bundle[path]).hexdigest() != expected
    ]


def _sum_line(line: str) -> tuple[str, str]:
    """Path and checksum of a line as sha256sum writes it."""
    checksum, _, path = line.partition("  ")
    return path.strip(), checksum.strip()


def _compiled(bundle: Mapping[str, bytes]) -> list[str]:
    """What does not compile."""
    return [
        problem
        for path, data in sorted(bundle.items())
        if PurePosixPath(path).suffix == ".py" and (problem := _syntax_error(path, data))
    ]


def _syntax_error(path: str, data: bytes) -> str:
    try:
        compile(data, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"{path}: {error}"
    return ""
